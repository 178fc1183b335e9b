import { isDeepStrictEqual } from 'node:util';
import type { Client, LogItem } from '../../src/client/client.ts';
import { CALLS, HOOK, ORDER, PAID } from './flows.ts';
import type { Sink } from './sink.ts';
import type { Instance, Run, View } from './view.ts';

const AT_A_TIME = 8;

/** Calls `act` with every item, a few at a time; gives the results in order. */
export async function each<T, R>(items: Iterable<T>, act: (item: T) => Promise<R>): Promise<R[]> {
  const all = [...items];
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < all.length; at = next++) results[at] = await act(all[at] as T);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}

/** The ids of all instances, or of those in one state. */
export async function idsOf(client: Client, state?: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 500, ...(state !== undefined && { state }), ...(cursor !== undefined && { cursor }) };
    const page = await client.call('listInstances', { query } as Parameters<typeof client.call<'listInstances'>>[1] &
      object);
    for (const { processInstanceId } of page.items) ids.push(processInstanceId);
    cursor = page.nextCursor;
  }
  return ids;
}

export const instanceOf = (client: Client, processInstanceId: string): Promise<Instance> =>
  client.call('getInstance', { params: { processInstanceId } });

/** Follows a log to its end. */
export async function logOf(client: Client, id: string): Promise<LogItem[]> {
  const items: LogItem[] = [];
  for await (const item of client.log(id)) items.push(item);
  return items;
}

/** All that the API tells of the state, as text. */
export async function exported(client: Client): Promise<string> {
  const instances = await each((await idsOf(client)).sort(), (id) => instanceOf(client, id));
  const tasks = await client.call('listTasks', { query: { limit: 500 } });
  const flows = await client.call('listFlows');
  const versions = await each(flows.items, ({ processId }) => client.call('listVersions', { params: { processId } }));
  const webhooks = await client.call('listWebhooks');
  const deliveries = await each(webhooks.items, ({ id }) =>
    client.call('listDeliveries', { params: { webhookId: id } }),
  );
  return JSON.stringify({ instances, tasks, flows, versions, deliveries }, undefined, 1);
}

function groupedBy<K>(instances: readonly Instance[], keyOf: (instance: Instance) => K): Map<K, Instance[]> {
  const groups = new Map<K, Instance[]>();
  for (const instance of instances) {
    const key = keyOf(instance);
    groups.set(key, [...(groups.get(key) ?? []), instance]);
  }
  return groups;
}

/** Started from outside; a child has the correlation key of its parent. */
const isRoot = ({ parentInstanceId }: Instance): boolean => parentInstanceId === undefined;

/** Every acknowledged start is one whole instance, every other one none or one (A1, A2). Gives problems. */
export function checkStarts(view: View, instances: readonly Instance[]): string[] {
  const byNumber = groupedBy(instances.filter(isRoot), ({ correlationKey }) => correlationKey);
  return view.runs.flatMap((run) => {
    const found = byNumber.get(run.number) ?? [];
    const ids = found.map(({ processInstanceId }) => processInstanceId);
    if (run.id === undefined) return ids.length > 1 ? [`run ${run.number} began ${ids.length} times`] : [];
    if (ids.length !== 1 || ids[0] !== run.id) return [`run ${run.number} is ${run.id}, and there are ${ids}`];
    const version = Number(found[0]?.processVersion);
    if (version >= run.leastVersion && version <= run.mostVersion) return [];
    return [`run ${run.number} is of version ${version}, not of ${run.leastVersion} to ${run.mostVersion}`];
  });
}

/** Every run that had all it needs ended as it must, with what it alone was given (A1, A2). Gives problems. */
export function checkEnds(view: View, instances: readonly Instance[]): string[] {
  const byNumber = new Map(instances.filter(isRoot).map((instance) => [instance.correlationKey, instance]));
  return view.runs.flatMap((run) => {
    const instance = byNumber.get(run.number);
    const problem = instance && endProblem(run, instance);
    return problem === undefined ? [] : [`run ${run.number} (${instance?.processInstanceId}): ${problem}`];
  });
}

function endProblem(run: Run, { stateCd, data, nodes, error }: Instance): string | undefined {
  // Nobody knew its id, so nobody gave it what it waits for.
  if (run.id === undefined && run.flow !== ORDER) return stateCd === 0 ? undefined : `it ended with ${stateCd}`;
  if (run.cancelled === 'yes') return stateCd === 3 ? undefined : `it was cancelled, and its state is ${stateCd}`;
  if (run.cancelled === 'maybe' && stateCd === 3) return undefined;
  if (stateCd !== 1) return `its state is ${stateCd}: ${JSON.stringify(error)}`;
  if (data['result'] !== run.number) return `it returned ${data['result']}`;
  const ended = nodes.filter(({ statusCd }) => statusCd === 2).map(({ nodeId }) => nodeId);
  const calls = CALLS[run.flow] ?? [];
  for (const node of calls) if (ended.filter((id) => id === node).length !== 1) return `${node} was not done once`;
  if (run.flow === ORDER && data['count'] !== 49) return `its loop ended with ${data['count']}`;
  if (run.flow !== PAID) return undefined;
  const taken = [data['one'], data['two']];
  return isDeepStrictEqual(taken, [{ amount: 1 }, { amount: 2 }]) ? undefined : `it took ${JSON.stringify(taken)}`;
}

/**
 * Outside work is begun at most once in a life of the daemon, again only after a kill, and never after somebody saw it done;
 * what ended did all of its work (A3). Gives problems.
 */
export function checkWork(sink: Sink, instances: readonly Instance[], done: ReadonlyMap<string, number>): string[] {
  const problems: string[] = [];
  for (const [key, lives] of sink.calls)
    if (lives.some((life, at) => at > 0 && life <= (lives[at - 1] as number)))
      problems.push(`${key} was called in the lives ${lives} of the daemon`);
  for (const [key, count] of done)
    if ((sink.calls.get(key)?.length ?? 0) > count) problems.push(`${key} was called after it was seen done`);
  const called = new Set([...sink.calls.keys()].map(placeOf));
  for (const { processInstanceId: id, processId, nodes } of instances)
    for (const { nodeId, statusCd } of nodes)
      if (statusCd === 2 && CALLS[processId]?.includes(nodeId) && !called.has(`${id}:${nodeId}`))
        problems.push(`${id} never called out as ${nodeId}`);
  return problems;
}

/** `<instance>:<node>` of an idempotency key. */
export const placeOf = (key: string): string => key.slice(0, key.lastIndexOf(':'));

/** Acknowledged deliveries started one run each, others one or none (A1, A2). Gives problems. */
export function checkDeliveries(view: View, instances: readonly Instance[]): string[] {
  const hooked = instances.filter(({ processId }) => processId === HOOK);
  const byEvent = groupedBy(hooked, ({ data }) => data['result'] as string);
  return [...view.deliveries].flatMap(([id, acknowledged]) => {
    const started = byEvent.get(id)?.length ?? 0;
    if (started === 1 || (started === 0 && !acknowledged)) return [];
    return [`delivery ${id} started ${started} runs`];
  });
}

/** Every reader got the log from its first entry on, in order, without a gap or a repetition; all got the same (A5). */
export function checkReading(items: readonly LogItem[], whole: readonly LogItem[]): string | undefined {
  for (const [at, item] of items.entries()) {
    if (item.kind === 'entry' && item.id !== String(at + 1)) return `entry ${item.id} came as number ${at + 1}`;
    if (!isDeepStrictEqual(item, whole[at])) return `item ${at + 1} differs from what the log says now`;
  }
  return undefined;
}

/** Lifecycle events as the journal holds them, to the one of the id `last`. */
export async function lifecycleOf(client: Client, last: string): Promise<[id: string, event: string][]> {
  const events: [string, string][] = [];
  for await (const { id, event } of client.events({ after: '0.0' })) {
    events.push([id as string, JSON.stringify(event)]);
    if (id === last) break;
  }
  return events;
}

/** A reader of lifecycle events got all from where it began, each once, over all restarts (A5). Gives problems. */
export function checkLifecycle(
  seen: readonly [id: string, event: string][],
  all: readonly [id: string, event: string][],
): string[] {
  const first = all.findIndex(([id]) => id === seen[0]?.[0]);
  return seen.flatMap(([id, event], at) => {
    const [expectedId, expected] = all[first + at] ?? [];
    if (id !== expectedId) return [`lifecycle event ${id} came where ${expectedId} belongs`];
    return event === expected ? [] : [`lifecycle event ${id} came as ${event} and is ${expected}`];
  });
}
