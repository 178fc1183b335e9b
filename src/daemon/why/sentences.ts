import type { Explanation, Wait as WaitView } from '../../contract/types.ts';
import type { Otherwise, Wait } from '../../engine/index.ts';
import type { JsonObject } from '../../engine/json.ts';

type Release = WaitView['releases'][number];
type Told = Pick<WaitView, 'kind' | 'sentence'> & Partial<WaitView> & { readonly release?: Release };

/** Ends a reason that came from elsewhere as a sentence. */
const stopped = (reason: string): string => {
  const text = reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON)}…` : reason;
  return /[.?!…]$/.test(text) ? text : `${text}.`;
};
const MAX_REASON = 1000;

export const iso = (ms: number): string => new Date(ms).toISOString();

/** Texts that come from flows and from outside are cut, so that a sentence stays one. */
const MAX_QUOTED = 200;
export const quoted = (text: string): string =>
  `"${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text}"`;

const WORK: Readonly<Record<string, string>> = {
  http: 'an HTTP request',
  command: 'a command',
  script: 'a script',
  email: 'an email that is being sent',
  domain: 'a function',
  ai: 'a language model',
  voice: 'a speech service',
  memory: 'memory',
  agent: 'an agent',
};

/** What a token waits for, and what it waits for with it, in words and for programs. */
export function told({ node, awaited }: Wait): Told {
  const name = quoted(node.name);
  switch (awaited.kind) {
    case 'task': {
      const form = awaited.task['form'] as JsonObject;
      const title = typeof form['title'] === 'string' ? `: ${quoted(form['title'])}` : '';
      return {
        kind: 'TASK',
        sentence: `${name} waits for an answer${forWhom(awaited.task)}${title}.`,
        form,
        release: { sentence: 'Somebody answers it, or cancels it.' },
      };
    }
    case 'message': {
      const { name: eventType, correlationKey } = awaited;
      return {
        kind: 'MESSAGE',
        sentence: `${name} waits for the message ${quoted(eventType)} with the key ${quoted(correlationKey)}.`,
        event: { eventType, correlationKey },
        release: { sentence: `The message ${quoted(eventType)} comes with the key ${quoted(correlationKey)}.` },
      };
    }
    case 'signal': {
      const sentence = `${name} waits for the signal ${quoted(awaited.name)}.`;
      const release = { sentence: `The signal ${quoted(awaited.name)} is sent.` };
      return { kind: 'SIGNAL', sentence, event: { eventType: awaited.name }, release };
    }
    case 'timer': {
      const dueAt = iso(awaited.due);
      return {
        kind: 'TIMER',
        sentence: `${name} waits for a time: ${dueAt}.`,
        dueAt,
        release: { sentence: 'The time comes.', at: dueAt },
      };
    }
    case 'retry': {
      const { attempt, attempts, due, error } = awaited;
      const why = error === undefined ? 'failed' : `failed with ${error.code}: ${error.message}`;
      return {
        kind: 'RETRY',
        sentence: `${name} waits for attempt ${attempt} of ${attempts}; attempt ${attempt - 1} ${stopped(why)}`,
        dueAt: iso(due),
        attempt,
        attempts,
        ...(error && { error }),
        release: { sentence: 'The next attempt begins.', at: iso(due) },
      };
    }
    case 'work': {
      const { attempt, attempts, error, work } = awaited;
      const nth = attempts > 1 ? `, attempt ${attempt} of ${attempts}` : '';
      return {
        kind: 'WORK',
        sentence: `${name} waits for ${WORK[work]} to finish${nth}.`,
        attempt,
        attempts,
        ...(error && { error }),
        release: { sentence: 'The work finishes.' },
      };
    }
    case 'child': {
      const { child } = awaited;
      return {
        kind: 'CHILD',
        sentence: `${name} waits for the instance ${child ?? 'that it is starting'} to end.`,
        ...(child !== undefined && { childInstanceId: child }),
        release: { sentence: 'The instance that it started ends.' },
      };
    }
    case 'join': {
      const missing = [...new Set(awaited.missing.map(({ from }) => from))];
      return {
        kind: 'JOIN',
        sentence: `${name} waits for the branches that have not arrived: from ${listed(missing)}.`,
        missing,
        release: { sentence: comingSentence(node.type, awaited.coming) },
      };
    }
    case 'loop': {
      const { running, begun, count } = awaited;
      const of = count === undefined ? '' : ` of ${count}`;
      return {
        kind: 'LOOP',
        sentence: `${name} waits for its iterations: ${begun}${of} began, and ${running} of them ${running === 1 ? 'runs' : 'run'}.`,
        release: { sentence: 'Its iterations end.' },
      };
    }
    case 'turn':
      return { kind: 'TURN', sentence: `${name} waits for nothing: it goes on by itself in a moment.` };
  }
}

function forWhom({ assignee, candidates }: JsonObject): string {
  if (typeof assignee === 'string') return ` by ${quoted(assignee)}`;
  return Array.isArray(candidates) && candidates.length > 0
    ? ` by one of ${listed(candidates.slice(0, 10).map(String))}`
    : '';
}

function comingSentence(type: string, coming: readonly string[]): string {
  if (coming.length === 0) return 'No token can get there any more.';
  const gets = `A token that now is at ${listed(coming)} gets there`;
  return type === 'inclusiveGateway' ? `${gets}, or no longer can.` : `${gets}.`;
}

const listed = (names: readonly string[]): string => names.map(quoted).join(', ');

/** What else moves a token: its timeout, and the boundary events of its node. */
export function releaseOf(way: Otherwise): Release {
  switch (way.by) {
    case 'timeout': {
      const to = way.to === undefined ? 'fails with TIMEOUT, or is tried again' : `goes on at ${quoted(way.to)}`;
      return { sentence: `Its timeout passes: it ${to}.`, at: iso(way.due) };
    }
    case 'timer':
      return { sentence: `The time of the boundary event ${quoted(way.boundary.name)} comes.`, at: iso(way.due) };
    case 'message':
      return {
        sentence: `The message ${quoted(way.name)} comes with the key ${quoted(way.correlationKey)} for the boundary event ${quoted(way.boundary.name)}.`,
      };
    case 'signal':
      return {
        sentence: `The signal ${quoted(way.name)} is sent for the boundary event ${quoted(way.boundary.name)}.`,
      };
  }
}

/** An instance in one sentence. */
export function summary(
  { stateCd, error, waits, total }: Pick<Explanation, 'stateCd' | 'error' | 'waits' | 'total'>,
  cancelled: readonly string[],
  isChild: boolean,
): string {
  const at = cancelled.length === 0 ? '' : `, while it was at ${listed(cancelled.slice(0, 10))}`;
  if (stateCd === 1) return 'It completed: no token is left.';
  if (stateCd === 3) return `It was cancelled${isChild ? ' by its parent' : ''}${at}.`;
  if (stateCd === 2)
    return `Nothing in the flow caught the error at ${quoted(error?.nodeId ?? '')}: ${stopped(`${error?.code}: ${error?.message}`)}`;
  const loops = waits.filter(({ kind }) => kind === 'LOOP').length;
  const [first, ...more] = waits.filter(({ kind }) => kind !== 'LOOP');
  if (first === undefined) return 'It goes on by itself in a moment.';
  if (more.length === 0) return first.sentence;
  const names = [...new Set([first, ...more].map(({ nodeName }) => nodeName))];
  return `It waits at ${total - loops} places: ${listed(names.slice(0, 10))}${names.length > 10 ? ' and more' : ''}.`;
}
