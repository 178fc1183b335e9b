import type { LifecycleEvent, Task } from '../../contract/types.ts';
import type { Form } from '../../engine/form.ts';
import type { App } from '../app.ts';
import { controlsOf } from '../form/fields.ts';
import { FormPanel, type Values } from '../form/form-panel.tsx';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { ago, moment } from '../times.ts';
import { openRun } from './run.tsx';

const PAGE = 200;
const GATHER_MS = 150;
const PEOPLE = new Set(['inputNode', 'userTask']);

export const formOf = (task: Task): Form => task.form as unknown as Form;
const keyOf = ({ processInstanceId, nodeId, since }: Task): string => `${processInstanceId} ${nodeId} ${since}`;

/** Forms that were begun and left, by task: what was written is kept for as long as the app runs. */
const begun = new WeakMap<App, Map<string, FormPanel>>();
const MOST_BEGUN = 50;

/** What waits for people, oldest first. */
export class TasksScreen extends ListScreen<Task> {
  readonly name = 'tasks';
  readonly title = 'tasks';
  protected readonly empty = 'Nothing waits for anybody.';
  protected readonly columns: readonly Column<Task>[] = [
    { title: 'SINCE', width: 7, align: 'right', text: ({ since }) => ago(Date.parse(since)) },
    { title: 'WHAT', width: 0, text: (task) => formOf(task).title },
    { title: 'FLOW', width: 18, wide: 30, from: 64, text: ({ processName }) => processName, tone: () => 'accent' },
    { title: 'NODE', width: 18, wide: 30, from: 130, text: ({ nodeName }) => nodeName },
    { title: 'FOR', width: 14, wide: 24, from: 100, text: whoOf },
    { title: 'KEY', width: 12, wide: 24, from: 115, text: ({ correlationKey = '' }) => correlationKey },
    { title: 'TIME OUT', width: 11, from: 72, text: untilOf, tone: (task) => (isLate(task) ? 'bad' : 'dim') },
    { title: 'TYPE', width: 8, from: 90, text: (task) => formOf(task).inputType, tone: () => 'dim' },
  ];
  #stopListening: () => void = () => undefined;
  #gathering: NodeJS.Timeout | undefined;

  override open(): void {
    super.open();
    this.#stopListening = this.app.live.listen((event) => this.#onEvent(event));
  }

  override close(): void {
    this.#stopListening();
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
  }

  #onEvent({ type, data }: LifecycleEvent): void {
    if (type !== 'INSTANCE_ENDED' && !PEOPLE.has(data.nodeType ?? '')) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      void this.rows.refetch();
    }, GATHER_MS);
  }

  protected page(cursor: string | undefined): Promise<Page<Task>> {
    return this.app.client.call('listTasks', { query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } });
  }
  protected idOf(task: Task): string {
    return keyOf(task);
  }
  protected words(task: Task): string {
    return [
      formOf(task).title,
      task.processName,
      task.nodeName,
      task.correlationKey,
      whoOf(task),
      task.processInstanceId,
    ].join(' ');
  }

  protected actions(): readonly Binding[] {
    return [
      { keys: ['enter'], does: 'answer', changes: true, run: () => this.current && this.#answer(this.current) },
      {
        keys: ['o'],
        does: 'open run',
        run: () => this.current && openRun(this.app, this.current.processInstanceId, this.current.processName),
      },
      { keys: ['x'], does: 'cancel task', changes: true, run: () => this.#cancel() },
    ];
  }

  #answer(task: Task): void {
    const forms = begun.get(this.app) ?? new Map<string, FormPanel>();
    begun.set(this.app, forms);
    const form = forms.get(keyOf(task)) ?? taskForm(this.app, task);
    forms.set(keyOf(task), form);
    if (forms.size > MOST_BEGUN) forms.delete(forms.keys().next().value ?? '');
    this.app.show(form);
  }

  #cancel(): void {
    const tasks = this.chosen;
    const [first] = tasks;
    if (first === undefined) return;
    const what = tasks.length === 1 ? `the task “${formOf(first).title}”` : `${tasks.length} tasks`;
    this.app.confirm(
      `Cancel ${what}? The flow goes on by its errorFlow, or fails.`,
      `cancel ${tasks.length === 1 ? 'it' : 'them'}`,
      () => {
        this.unmark();
        void this.app.each(tasks, 'Cancelled', ({ processInstanceId, nodeId }) =>
          this.app.client.call('submitTask', { body: { processInstanceId, nodeId, action: 'CANCEL' } }),
        );
      },
    );
  }
}

/** The form of a task, with the fields and options that its flow gave it. */
function taskForm(app: App, task: Task): FormPanel {
  const form = formOf(task);
  const { processInstanceId, nodeId } = task;
  const send = (action: 'COMPLETE' | 'CANCEL', data?: Values) =>
    app.client.call('submitTask', { body: { processInstanceId, nodeId, action, ...(data !== undefined && { data }) } });
  const cancel: Binding = {
    keys: ['ctrl+x'],
    does: 'cancel task',
    run: () =>
      app.confirm(`Cancel the task “${form.title}”? The flow goes on by its errorFlow, or fails.`, 'cancel it', () => {
        void app.act(async () => {
          await send('CANCEL');
          return 'Cancelled the task.';
        });
      }),
  };
  return new FormPanel(app, {
    title: form.title,
    lead: `${task.processName}, ${task.nodeName}, waiting for ${ago(Date.parse(task.since))}${whoOf(task) === '' ? '' : `, for ${whoOf(task)}`}`,
    controls: controlsOf(form, app.client),
    does: 'complete',
    more: [cancel],
    submit: async (values) => {
      await send('COMPLETE', form.inputType === 'form' ? { formData: values } : values);
      return `Completed “${form.title}”.`;
    },
  });
}

const whoOf = ({ assignee, candidates }: Task): string => assignee ?? (candidates ?? []).join(', ');

const endOf = ({ timeoutAt, dueAt }: Task): string | undefined => timeoutAt ?? dueAt;
const untilOf = (task: Task): string => (endOf(task) === undefined ? '' : moment(Date.parse(endOf(task) as string)));
const isLate = (task: Task): boolean =>
  endOf(task) !== undefined && Date.parse(endOf(task) as string) < Date.now() + 3_600_000;
