import { change } from './apply.ts';
import { find } from './body.ts';
import { type Draft, emptyDraft } from './draft.ts';
import type { Assignment, Event, LogLevel } from './event.ts';
import type { Flow } from './flow.ts';
import type { JsonObject } from './json.ts';
import type { Activation, State } from './state.ts';

export interface LogLine {
  readonly nodeId: string;
  readonly nodeName: string;
  readonly nodeType: string;
  readonly message: string;
  readonly level: LogLevel;
  /** ms since the epoch. */
  readonly at: number;
  /** All variables, after an entry that tells of a change of them; left out where they are large. */
  readonly variables?: JsonObject;
}

/** Variables larger than this (bytes as JSON) do not go into every log entry. */
const VARIABLES_IN_LOG = 16 * 1024;
const VALUE_IN_LOG = 500;
const MESSAGE_IN_LOG = 5000;

/** Tells an instance's history as log lines: feed it every event in order. Which lines an event gives never changes. */
export class LogFold {
  readonly #flow: Flow;
  readonly #draft: Draft = emptyDraft();

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  get state(): State {
    return this.#draft;
  }

  next(event: Event, at: number): LogLine | undefined {
    const activation = 'n' in event ? this.#draft.active.get(event.n) : undefined;
    change(this.#draft, event, at);
    const told = tell(event, activation, this.#draft);
    if (told === undefined) return undefined;
    const [nodeId, level, message, changed] = told;
    const node = find(this.#flow, nodeId)?.node;
    const variables = changed && this.#draft.size <= VARIABLES_IN_LOG ? { variables: this.#draft.variables } : {};
    return { nodeId, nodeName: node?.name ?? nodeId, nodeType: node?.type ?? '', message, level, at, ...variables };
  }
}

type Told = readonly [nodeId: string, level: LogLevel, message: string, changed?: boolean];

function tell(event: Event, activation: Activation | undefined, after: Draft): Told | undefined {
  const id = activation?.node ?? '';
  switch (event.type) {
    case 'nodeStarted':
      return [event.node, 'INFO', 'started'];
    case 'nodeWaiting':
      return [id, 'INFO', waiting(after.active.get(event.n))];
    case 'workStarted':
      return event.attempt > 1 ? [id, 'INFO', `attempt ${event.attempt} started`] : undefined;
    case 'workFailed': {
      const { code, message } = event.error;
      return [id, 'WARN', `attempt ${activation?.attempt} failed: ${code}: ${message}; next at ${iso(event.retryAt)}`];
    }
    case 'eventTaken':
      return [id, 'INFO', `received ${event.name}`];
    case 'nodeCompleted':
      return [id, 'INFO', 'completed'];
    case 'nodeFailed':
      return [id, 'ERROR', `failed: ${event.error.code}: ${event.error.message}`];
    case 'nodeCancelled':
      return [id, 'WARN', 'cancelled'];
    case 'nodeTimedOut':
      return [id, 'WARN', 'timed out'];
    case 'variablesSet':
      return [id, 'INFO', shortened(`set ${event.set.map(({ path }) => path.join('.')).join(', ')}`), true];
    case 'outputEmitted':
      return [id, 'INFO', shortened(event.set.map(shown).join(', ')), true];
    case 'logged':
      return [id, event.level, event.message];
    case 'iterationStarted': {
      const { next, count } = after.active.get(event.n)?.loop ?? { next: 0, count: undefined };
      return [id, 'INFO', `iteration ${next}${count === undefined ? '' : ` of ${count}`} started`];
    }
    case 'childStarted':
      return [id, 'INFO', `started the instance ${event.child}`];
    case 'instanceEnded':
      return (
        event.error && [event.error.nodeId, 'ERROR', `the instance failed: ${event.error.code}: ${event.error.message}`]
      );
    default:
      return undefined;
  }
}

function waiting(activation: Activation | undefined): string {
  const form = activation?.task?.['form'] as { readonly title?: string } | undefined;
  if (form !== undefined) return `waiting for input: ${form.title ?? ''}`;
  const own = activation?.subscriptions.find(({ purpose }) => purpose === 'catch');
  if (own?.kind === 'signal') return `waiting for the signal ${own.name}`;
  if (own !== undefined) return `waiting for the message ${own.name} with the key "${own.correlationKey}"`;
  const timer = activation?.timers.find(({ purpose }) => purpose === 'catch');
  return timer === undefined ? 'waiting' : `waiting until ${iso(timer.due)}`;
}

function shown({ path, value }: Assignment): string {
  const text = JSON.stringify(value);
  return `output ${path.join('.')} = ${text.length > VALUE_IN_LOG ? `${text.slice(0, VALUE_IN_LOG)}…` : text}`;
}

const shortened = (text: string): string => (text.length > MESSAGE_IN_LOG ? `${text.slice(0, MESSAGE_IN_LOG)}…` : text);

/** ISO 8601 of a time that is given: reads no clock. */
const iso = (ms: number): string => new Date(ms).toISOString();
