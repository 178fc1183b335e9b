import type { Explanation, Wait as WaitView } from '../../contract/types.ts';
import type { Wait } from '../../engine/index.ts';
import type { InstanceSummary, Waits } from '../runtime/door.ts';
import { queuedBehind } from '../triggers/schedule-runs.ts';
import { nearMisses, type Sources } from './near-misses.ts';
import { iso, quoted, releaseOf, summary, told } from './sentences.ts';

type Explained = Omit<Explanation, 'children'>;

const MOST_WAITS = 100;
const MOST_CHILDREN = 20;

/**
 * Why an instance stands where it stands: what each token waits for, since when, what would release it and what nearly did;
 * of one that ended, how. With the instances that it waits for. Undefined when it is unknown or of another organization.
 */
export async function explain(
  sources: Sources,
  organizationId: string | undefined,
  id: string,
): Promise<Explanation | undefined> {
  const own = await one(sources, organizationId, id);
  if (own === undefined) return undefined;
  const children: Explained[] = [];
  const awaited = childrenOf(own);
  while (awaited.length > 0 && children.length < MOST_CHILDREN) {
    const child = await one(sources, organizationId, awaited.shift() as string);
    if (child === undefined) continue;
    children.push(child);
    awaited.push(...childrenOf(child));
  }
  return { ...own, children };
}

const childrenOf = ({ waits }: Explained): string[] => waits.flatMap(({ childInstanceId }) => childInstanceId ?? []);

async function one(sources: Sources, organizationId: string | undefined, id: string): Promise<Explained | undefined> {
  const known = await sources.runtime.waits(organizationId, id);
  if (known === undefined) return undefined;
  const { instance, ended } = known;
  const waits = known.waits.slice(0, MOST_WAITS).map((wait) => viewOf(sources, instance, wait));
  const { processInstanceId, processName, stateCd, startTime, endTime, error } = instance;
  const about = { stateCd, waits, total: known.waits.length, ...(error && { error }) };
  return {
    processInstanceId,
    processName,
    ...about,
    sentence: summary(about, ended?.cancelled ?? [], instance.parentInstanceId !== undefined),
    startTime,
    ...(endTime !== undefined && { endTime }),
    releases: releasesOf(known),
    queuedStarts: queuedBehind(sources.runtime.facts, processInstanceId).map(iso),
  };
}

function viewOf(sources: Sources, instance: InstanceSummary, wait: Wait): WaitView {
  const { node, iteration, since, otherwise } = wait;
  const { release, ...what } = told(wait);
  return {
    nodeId: node.id,
    nodeName: node.name,
    nodeType: node.type,
    ...(iteration !== undefined && { iteration }),
    since: iso(since),
    ...what,
    ...(wait.awaited.kind === 'work' && wait.awaited.work === 'domain' && worker(sources, instance, wait)),
    releases: [...(release === undefined ? [] : [release]), ...otherwise.map(releaseOf)],
    nearMisses: [...nearMisses(sources, instance, wait)],
  };
}

/** What a function of the user's own waits for: a worker that takes it, or that is done with it. */
function worker({ workers }: Sources, { processInstanceId }: InstanceSummary, { node }: Wait): Partial<WaitView> {
  const handler = node.keys['handler'] as string;
  const name = quoted(node.name);
  switch (workers.standing(processInstanceId, node.id)) {
    case 'offered':
      return { kind: 'WORKER', handler, sentence: `${name} waits for a worker that handles ${quoted(handler)}.` };
    case 'taken':
      return { handler, sentence: `${name} waits for the worker that took ${quoted(handler)}.` };
    default:
      return { handler };
  }
}

/** What can be done about an instance that ended otherwise than it should. */
function releasesOf({ instance, ended }: Waits): Explained['releases'] {
  if (ended === undefined || ended.stateCd === 1) return [];
  const { error, parentInstanceId } = instance;
  const from = error === undefined ? 'a node that it reached' : quoted(error.nodeId);
  if (parentInstanceId === undefined) return [{ sentence: `A retry goes on from ${from}, as a new instance.` }];
  return [
    { sentence: `A retry goes on from ${from}, as a new instance; its parent ${parentInstanceId} goes its own way.` },
  ];
}
