import type { Way } from '../flow.ts';
import type { Json } from '../json.ts';
import type { At } from '../keys/kind.ts';
import type { ReadBody, ReadNode } from '../parse/nodes.ts';

/** What concerns each node of a body by itself, with its boundary events, and is not about the form of a single key. */
export function checkNodes(body: ReadBody): void {
  const timed = timedActivities(body);
  for (const node of body.nodes.values()) checkNode(node, timed);
}

/** Activities with a timer on their border that ends their wait as a `timeout` does. */
function timedActivities(body: ReadBody): ReadonlySet<Json> {
  const timers = [...body.nodes.values()].filter(
    (node) => node.type === 'boundaryEvent' && has(node, 'timer') && node.raw['cancelActivity'] !== false,
  );
  return new Set(timers.map(({ raw }) => raw['attachedTo'] ?? null));
}

function checkNode(node: ReadNode, timed: ReadonlySet<Json>): void {
  checkTimeoutFlow(node);
  if (node.type === 'inputNode') checkInputNode(node, timed.has(node.id));
  if (node.declaration?.connections === 'ways') checkWays(node);
  if (
    node.type === 'intermediateCatchEvent' ||
    node.type === 'intermediateThrowEvent' ||
    node.type === 'boundaryEvent'
  ) {
    checkSignal(node);
  }
}

const has = (node: ReadNode, key: string) => Object.hasOwn(node.raw, key);

function checkTimeoutFlow(node: ReadNode): void {
  if (!node.declaration?.timeout || !has(node, 'timeoutFlow') || has(node, 'timeout')) return;
  const message = '`timeoutFlow` is never taken: the node has no `timeout`';
  node.at.key('timeoutFlow').warning('NEVER_TAKEN', message, { onKey: true, hint: 'add `timeout: PT1H`' });
}

function checkInputNode(node: ReadNode, timed: boolean): void {
  if (!has(node, 'errorFlow')) {
    const message = `\`${node.id}\` has no \`errorFlow\`: when it is cancelled, the flow goes on as if it was answered`;
    node.at.warning('NO_ERROR_FLOW', message, {
      onKey: true,
      hint: 'add `errorFlow`, or check {inputNodeAction} afterwards',
    });
  }
  if (!has(node, 'timeout') && !has(node, 'timeoutFlow') && !timed) {
    const message = `\`${node.id}\` has no \`timeout\`: without an answer it waits for ever`;
    node.at.warning('NO_TIMEOUT', message, { onKey: true, hint: 'add `timeout` and `timeoutFlow`' });
  }
}

/** A signal goes to all who wait for its name (semantics 13). */
function checkSignal(node: ReadNode): void {
  if (!has(node, 'signal') || !has(node, 'correlationKey')) return;
  const message = '`correlationKey` has no effect on a signal, which goes to all who wait for it';
  node.at
    .key('correlationKey')
    .warning('NO_EFFECT', message, { onKey: true, hint: 'use `message` to reach one instance' });
}

function checkWays(node: ReadNode): void {
  const ways = node.node?.next as readonly Way[] | undefined;
  if (ways === undefined) return;
  if (ways.length === 0) {
    node.at.warning('NO_WAY_OUT', `the gateway \`${node.id}\` has no \`next\`: its tokens end here`, { onKey: true });
  }
  const places = node.connections.map(({ at }) => at);
  const list = ways.map((way, index) => [way, places[index] as At] as const);
  if (node.type === 'parallelGateway') warnOfConditions(list);
  else checkDefaults(list);
  if (node.type === 'exclusiveGateway') warnOfUnreached(list);
}

type Placed = readonly (readonly [way: Way, at: At])[];

/** A parallel split takes every way, whatever conditions it carries (semantics 3). */
function warnOfConditions(ways: Placed): void {
  for (const [way, at] of ways) {
    if (way.condition === undefined && !way.default) continue;
    at.warning('NO_EFFECT', 'a parallelGateway takes every way: it looks at no condition and no default');
  }
}

function checkDefaults(ways: Placed): void {
  const [, ...more] = ways.filter(([way]) => way.default);
  for (const [, at] of more) at.error('SECOND_DEFAULT', 'this is a second default way: a gateway has one at most');
  for (const [way, at] of ways) {
    if (way.default && way.condition !== undefined) {
      at.warning('NO_EFFECT', 'the condition of a default way is never looked at', {
        hint: 'remove `condition` or `default`',
      });
    }
  }
}

/** An exclusive split takes the first true way (semantics 1), and a way without condition is always true. */
function warnOfUnreached(ways: Placed): void {
  const open = ways.findIndex(([way]) => way.condition === undefined && !way.default);
  if (open < 0) return;
  for (const [, at] of ways.slice(open + 1)) {
    const message = `this way is never taken: the one to \`${ways[open]?.[0].to}\` before it has no condition`;
    at.warning('NEVER_TAKEN', message, { hint: 'write conditions, or use a parallelGateway to take all' });
  }
}
