import type { Wait as WaitView } from '../../contract/types.ts';
import type { Flow } from '../../engine/flow.ts';
import { innerBody, type Wait } from '../../engine/index.ts';
import type { Environment, InstanceSummary, Runtime } from '../runtime/door.ts';
import type { DefinitionStore } from '../store/definitions.ts';
import type { WorkerTasks } from '../work/worker-tasks.ts';
import { iso, quoted } from './sentences.ts';

export type NearMiss = WaitView['nearMisses'][number];

/** What is asked for what came near. */
export interface Sources {
  readonly runtime: Runtime;
  readonly definitions: DefinitionStore;
  readonly workers: WorkerTasks;
}

/** Near misses of each kind that are told. */
const MOST = 5;
/** Flows that are looked through for who sends an event. */
const MOST_FLOWS = 100;

/** What nearly moved a token of `instance`. */
export function nearMisses(sources: Sources, instance: InstanceSummary, wait: Wait): readonly NearMiss[] {
  const { awaited, node } = wait;
  const events = [awaited, ...wait.otherwise.map((way) => ({ ...way, kind: way.by }))];
  const near = events.flatMap((event) => nearEvents(sources, instance, wait, event));
  if (awaited.kind === 'task') return [...refusedAnswers(sources, instance, node.id), ...near];
  if (awaited.kind === 'work' && awaited.work === 'domain')
    return [...missingWorkers(sources, instance, wait), ...near];
  return near;
}

/** What came near to an event that a token, or a boundary event of its node, waits for. */
function nearEvents(
  sources: Sources,
  instance: InstanceSummary,
  wait: Wait,
  event: { readonly kind: string; readonly name?: string; readonly correlationKey?: string },
): readonly NearMiss[] {
  const { kind, name, correlationKey = '' } = event;
  if ((kind !== 'message' && kind !== 'signal') || name === undefined) return [];
  const meant = { kind, name, correlationKey } as const;
  const senders = sleepingSenders(sources, instance, meant);
  if (kind === 'signal') return [...missedSignals(sources, instance, wait, meant), ...senders];
  return [
    ...missedMessages(sources, instance, wait, meant),
    ...keptMessages(sources, instance, meant),
    ...others(sources, instance, meant),
    ...senders,
  ];
}

interface Event {
  readonly name: string;
  readonly correlationKey: string;
}

function missedMessages(
  { runtime }: Sources,
  { organizationId }: InstanceSummary,
  { since }: Wait,
  { name, correlationKey: key }: Event,
): readonly NearMiss[] {
  const found: NearMiss[] = [];
  for (const missed of runtime.near.missed(organizationId)) {
    const by = missed.thrownBy === undefined ? '' : `, thrown by the instance ${missed.thrownBy}`;
    const at = iso(missed.at);
    if (missed.name === name && missed.correlationKey === key) {
      if (missed.at > since) continue;
      const sentence = `The message ${quoted(name)} came with this key${by}, before this began to wait, and was not kept: a timeToLive would have kept it.`;
      found.push({ kind: 'TOO_EARLY', sentence, at });
    } else if (missed.name === name) {
      const sentence = `The message ${quoted(name)} came with the key ${quoted(missed.correlationKey)}${by}, and this waits for ${quoted(key)}${differing(missed.correlationKey, key)}.`;
      found.push({ kind: 'OTHER_KEY', sentence, at });
    } else if (isAlike(missed.name, name) || (key !== '' && missed.correlationKey === key)) {
      const sentence = `An event came under the name ${quoted(missed.name)} with the key ${quoted(missed.correlationKey)}${by}, and this waits for ${quoted(name)}.`;
      found.push({ kind: 'OTHER_NAME', sentence, at });
    }
    if (found.length === MOST) break;
  }
  return found;
}

function missedSignals(
  { runtime }: Sources,
  { organizationId }: InstanceSummary,
  { since }: Wait,
  { name }: Event,
): readonly NearMiss[] {
  const found: NearMiss[] = [];
  for (const missed of runtime.near.missed(organizationId)) {
    const at = iso(missed.at);
    if (missed.name === name && missed.at <= since)
      found.push({ kind: 'TOO_EARLY', sentence: `The signal ${quoted(name)} was sent before this began to wait.`, at });
    else if (missed.name !== name && isAlike(missed.name, name))
      found.push({
        kind: 'OTHER_NAME',
        sentence: `An event came under the name ${quoted(missed.name)}, and this waits for ${quoted(name)}.`,
        at,
      });
    if (found.length === MOST) break;
  }
  return found;
}

function keptMessages(
  { runtime }: Sources,
  { organizationId }: InstanceSummary,
  { name, correlationKey }: Event,
): readonly NearMiss[] {
  return runtime.near
    .kept(organizationId)
    .filter((kept) => kept.name === name && kept.correlationKey !== correlationKey)
    .slice(0, MOST)
    .map((kept) => ({
      kind: 'KEPT_WITH_OTHER_KEY',
      sentence: `The message ${quoted(name)} is there with the key ${quoted(kept.correlationKey)}, kept until ${iso(kept.expiresAt)}; this waits for ${quoted(correlationKey)}${differing(kept.correlationKey, correlationKey)}.`,
    }));
}

function others(
  { runtime }: Sources,
  { organizationId, processInstanceId }: InstanceSummary,
  { name, correlationKey }: Event,
): readonly NearMiss[] {
  const [first, ...more] = runtime.near.ahead(organizationId, processInstanceId, name, correlationKey);
  if (first === undefined) return [];
  const and = more.length === 0 ? '' : ` and ${more.length} more`;
  const sentence = `The instance ${first}${and} began to wait for the same message and key before, and a message goes to the one that waits longest.`;
  return [{ kind: 'ANOTHER_WAITS_FIRST', sentence }];
}

/** Flows of the organization that throw the event, and that nothing can start where the instance runs. */
function sleepingSenders(
  { definitions }: Sources,
  { organizationId, environment }: InstanceSummary,
  { kind, name }: { readonly kind: 'message' | 'signal'; readonly name: string },
): readonly NearMiss[] {
  const found: NearMiss[] = [];
  for (const flow of definitions.list(organizationId).slice(0, MOST_FLOWS)) {
    if (flow.active[environment] !== null || !throws(definitions, flow.processId, flow.latest, kind, name)) continue;
    const cron = flow.triggers.find(({ type }) => type === 'schedule')?.['cron'];
    const rests = cron === undefined ? '' : `, and its schedule ${quoted(String(cron))} rests`;
    const sentence = `The flow ${quoted(flow.name)} sends ${quoted(name)}, but has no active version in ${environment}${rests}.`;
    found.push({ kind: 'SENDER_NOT_PUBLISHED', sentence });
    if (found.length === MOST) break;
  }
  return found;
}

function throws(
  definitions: DefinitionStore,
  processId: string,
  version: number,
  kind: 'message' | 'signal',
  name: string,
): boolean {
  try {
    return sends(definitions.flow(processId, String(version)).body, kind, name);
  } catch {
    // A version whose file is lost sends nothing.
    return false;
  }
}

function sends({ nodes }: Flow['body'], kind: 'message' | 'signal', name: string): boolean {
  return [...nodes.values()].some((node) => {
    const thrown = node.type === 'intermediateThrowEvent' ? node.keys[kind] : undefined;
    const inner = innerBody(node);
    return (
      (thrown as { readonly source: string } | undefined)?.source === name ||
      (inner !== undefined && sends(inner, kind, name))
    );
  });
}

function refusedAnswers({ runtime }: Sources, { processInstanceId }: InstanceSummary, nodeId: string): NearMiss[] {
  return runtime.near
    .refused(processInstanceId, nodeId)
    .slice(0, MOST)
    .map(({ at, reason }) => ({ kind: 'ANSWER_REFUSED', sentence: `An answer was refused: ${reason}.`, at: iso(at) }));
}

function missingWorkers(
  { workers }: Sources,
  { processInstanceId, organizationId, environment }: InstanceSummary,
  { node }: Wait,
): readonly NearMiss[] {
  if (workers.standing(processInstanceId, node.id) !== 'offered') return [];
  const handler = node.keys['handler'] as string;
  const askers = workers.askers(organizationId);
  const fits = (at: Environment | string | undefined): boolean => at === undefined || at === environment;
  const last = askers.find((one) => one.handlers.includes(handler) && fits(one.environment));
  const away = last === undefined ? 'has asked since the daemon began' : 'is connected; the last one asked before';
  const found: NearMiss[] = [
    {
      kind: 'NO_WORKER',
      sentence: `No worker for ${quoted(handler)} in ${environment} ${away}.`,
      ...(last && { at: iso(last.at) }),
    },
  ];
  for (const one of askers) {
    if (found.length > MOST) break;
    const at = iso(one.at);
    if (one.handlers.includes(handler) && !fits(one.environment))
      found.push({ kind: 'OTHER_ENVIRONMENT', sentence: `A worker asked for it in ${one.environment} only.`, at });
    // What a worker of all organizations does for the others is none of this one's business.
    else if (!one.handlers.includes(handler) && one.organizationId !== undefined)
      found.push({
        kind: 'OTHER_HANDLER',
        sentence: `A worker asked for ${one.handlers.slice(0, 10).map(quoted).join(', ')}.`,
        at,
      });
  }
  return found;
}

/** The same but for case, spaces and what joins words. */
const isAlike = (one: string, other: string): boolean => folded(one) === folded(other);
const folded = (text: string): string => text.toLowerCase().replace(/[\s._:/-]/g, '');

const differing = (one: string, other: string): string =>
  one !== other && isAlike(one, other) ? ' (they differ in case, spaces or punctuation only)' : '';
