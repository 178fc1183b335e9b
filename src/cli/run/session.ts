import { ApiError, type Client, plain, UnreachableError } from '../../client/index.ts';
import type { LogEntry, Task } from '../../contract/types.ts';
import { exampleCompletion, formOf } from '../../terminal/commands.ts';
import { shownDuration } from '../../terminal/duration.ts';
import { CliError, EXIT } from '../exit.ts';
import type { Io } from '../io.ts';
import { isNoise, logLine } from '../log-lines.ts';
import { type Answer, type Answers, exampleInput } from './answers.ts';
import { coalesced } from './coalesced.ts';
import { Progress } from './progress.ts';

/** How following a run ended. All but `ended` leave it running. */
export type Outcome =
  | { readonly kind: 'ended' }
  | { readonly kind: 'timedOut' | 'interrupted' }
  | { readonly kind: 'waiting'; readonly task: Task };

export interface SessionOptions {
  readonly io: Io;
  readonly client: Client;
  readonly processInstanceId: string;
  readonly answers: Answers;
  /** undefined: as long as it takes. */
  readonly timeoutMs: number | undefined;
}

/** Log lines that come while a form is open are kept for after it, at most this many. */
const KEPT = 1000;
/** Of a run with more children at a time, some are left out until others end. */
const AT_ONCE = 100;
const keyOf = (task: Pick<Task, 'processInstanceId' | 'nodeId'>): string => `${task.processInstanceId} ${task.nodeId}`;

/** Follows one run, with the instances that its subProcess nodes start: shows their logs and answers what they ask. */
export class RunSession {
  readonly #options: SessionOptions;
  readonly #progress: Progress;
  readonly #stop = new AbortController();
  /** Instances whose log is read now, and all that were ever. */
  readonly #followed = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #start = Date.now();
  #current = 'starting';
  #settle: (outcome: Outcome) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  /** The form that is open, and how to take it back. */
  #open: { readonly key: string; readonly takeBack: AbortController } | undefined;
  #kept: string[] = [];
  /** The connection is lost, and that was said. */
  #lost = false;
  readonly #answerWaiting: () => void;
  readonly #takeBackGone: () => void;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#answerWaiting = coalesced(() => this.#answerAll(), this.#broken);
    this.#takeBackGone = coalesced(() => this.#takeBackIfGone(), this.#broken);
    this.#progress = new Progress(options.io, () => `${this.#current} · ${shownDuration(Date.now() - this.#start)}`);
  }

  async follow(): Promise<Outcome> {
    const { timeoutMs, processInstanceId } = this.#options;
    const outcome = new Promise<Outcome>((resolve, reject) => {
      this.#settle = resolve;
      this.#fail = reject;
    });
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#settle({ kind: 'timedOut' }), timeoutMs);
    const onInterrupt = (): void => this.#settle({ kind: 'interrupted' });
    process.once('SIGINT', onInterrupt);
    this.#progress.start();
    this.#watch(processInstanceId, '');
    try {
      return await outcome;
    } finally {
      clearTimeout(timer);
      process.removeListener('SIGINT', onInterrupt);
      this.#open?.takeBack.abort();
      this.#progress.stop();
      for (const line of this.#kept) this.#options.io.note(line);
      this.#stop.abort();
    }
  }

  /** Ends the session with an error, unless it has ended already and the error only tells of that. */
  readonly #broken = (error: unknown): void => {
    if (!this.#stop.signal.aborted) this.#fail(this.#explained(error));
  };

  #watch(instanceId: string, prefix: string): void {
    if (this.#seen.has(instanceId) || this.#followed.size >= AT_ONCE) return;
    this.#seen.add(instanceId);
    this.#followed.add(instanceId);
    this.#read(instanceId, prefix).catch(this.#broken);
  }

  async #read(instanceId: string, prefix: string): Promise<void> {
    const { client, processInstanceId } = this.#options;
    const lookAtChildren = coalesced(() => this.#watchChildren(instanceId, prefix), this.#broken);
    const onReconnecting = ({ reason }: { readonly reason: string }): void => this.#sayLost(reason);
    for await (const item of client.log(instanceId, { signal: this.#stop.signal, onReconnecting })) {
      this.#lost = false;
      if (item.kind === 'end') continue;
      this.#show(item.entry, prefix);
      const { nodeType } = item.entry;
      if (nodeType === 'subProcess') lookAtChildren();
      if (nodeType !== 'inputNode' && nodeType !== 'userTask') continue;
      if (this.#open !== undefined) this.#takeBackGone();
      this.#answerWaiting();
    }
    this.#followed.delete(instanceId);
    if (instanceId === processInstanceId) this.#settle({ kind: 'ended' });
  }

  #sayLost(reason: string): void {
    if (!this.#lost) this.#note(this.#options.io.paintNote('yellow', `… ${reason}; trying again`));
    this.#lost = true;
  }

  #show(entry: LogEntry, prefix: string): void {
    this.#current = plain(entry.nodeName, 60);
    if (!isNoise(entry)) this.#note(logLine(this.#options.io.paintNote, entry, prefix));
  }

  async #watchChildren(instanceId: string, prefix: string): Promise<void> {
    const options = { signal: this.#stop.signal };
    const { children, nodes } = await this.#options.client.call(
      'getInstance',
      { params: { processInstanceId: instanceId } },
      options,
    );
    const parents = nodes.filter(({ nodeType }) => nodeType === 'subProcess');
    for (const [at, child] of children.entries()) this.#watch(child, `${prefix}${parents[at]?.nodeName ?? 'child'}/`);
  }

  #note(line: string): void {
    if (this.#open === undefined) this.#progress.note(line);
    else if (this.#kept.length < KEPT) this.#kept.push(line);
  }

  /** Answers what waits, one task after the other. */
  async #answerAll(): Promise<void> {
    for (let [task] = await this.#waiting(); task !== undefined; [task] = await this.#waiting()) {
      const { answers, client, io } = this.#options;
      const given = await answers.next(task, client);
      if (given !== undefined) await this.#submit(task, given, false);
      else if (io.interactive) await this.#ask(task);
      else this.#settle({ kind: 'waiting', task });
      if (this.#stop.signal.aborted || (given === undefined && !io.interactive)) return;
    }
  }

  async #waiting(): Promise<readonly Task[]> {
    const options = { signal: this.#stop.signal };
    const pages = [...this.#followed].map((processInstanceId) =>
      this.#options.client.call('listTasks', { query: { processInstanceId, limit: 500 } }, options),
    );
    return (await Promise.all(pages)).flatMap(({ items }) => items);
  }

  async #ask(task: Task): Promise<void> {
    const { client, io } = this.#options;
    const { askAtTerminal } = await import('./form.ts');
    const takeBack = new AbortController();
    this.#progress.stop();
    this.#open = { key: keyOf(task), takeBack };
    const answer = await askAtTerminal(task, { io, client, signal: takeBack.signal }).finally(() => this.#closeForm());
    if (answer === undefined || this.#stop.signal.aborted) return;
    if (answer.action === 'CANCEL')
      this.#note(`Cancelled ${plain(task.nodeName)}. Ctrl-C again leaves the run; it goes on without you.`);
    await this.#submit(task, answer, true);
  }

  #closeForm(): void {
    this.#open = undefined;
    if (this.#stop.signal.aborted) return;
    const lines = this.#kept.splice(0);
    this.#progress.start();
    for (const line of lines) this.#progress.note(line);
  }

  /** A task that was answered elsewhere, or timed out, can't be answered here any more. */
  async #takeBackIfGone(): Promise<void> {
    const form = this.#open;
    const tasks = await this.#waiting();
    if (form === undefined || this.#open !== form || tasks.some((task) => keyOf(task) === form.key)) return;
    this.#kept.push(
      this.#options.io.paintNote(
        'yellow',
        'The question is no longer open: it was answered elsewhere, or its time was over.',
      ),
    );
    form.takeBack.abort();
  }

  async #submit(task: Task, answer: Answer, asked: boolean): Promise<void> {
    const { processInstanceId, nodeId } = task;
    try {
      await this.#options.client.call('submitTask', { body: { processInstanceId, nodeId, ...answer } });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 409) this.#note(`${plain(task.nodeName)} was answered elsewhere.`);
      else if (error.code === 'VALIDATION_ERROR') this.#refused(task, error, asked);
      else throw error;
    }
  }

  /** A person is asked again; an answer from the command line would only be refused again. */
  #refused(task: Task, error: ApiError, asked: boolean): void {
    const reasons = error.details.map(({ message }) => plain(message)).join('; ') || plain(error.message);
    if (!asked)
      throw new CliError(
        EXIT.usage,
        `The answer for ${task.nodeId} was refused: ${reasons}.`,
        `for example: ${exampleInput(task)}`,
      );
    this.#note(this.#options.io.paintNote('red', `The answer was refused: ${reasons}.`));
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof UnreachableError)) return error;
    const hint = `the run goes on with the daemon; watch it: wfx instance logs ${this.#options.processInstanceId} --follow`;
    return new CliError(EXIT.unreachable, `The daemon was lost: ${error.message}.`, hint);
  }
}

/** What a run that waits for a person needs, said to a script. */
export function waitingMessage(task: Task): CliError {
  const title = plain(formOf(task).title, 200);
  return new CliError(
    EXIT.usage,
    `The run waits at ${task.nodeId} (“${title}”), and there is no terminal to ask at.`,
    `answer it when starting: ${exampleInput(task)}\n        or now: ${exampleCompletion(task)}`,
  );
}
