import type { Explanation, Task, Wait } from '../contract/types.ts';
import type { Field, Form } from '../engine/form.ts';

/** A task, as far as the command that answers it needs it. */
type Asked = Pick<Task, 'processInstanceId' | 'nodeId' | 'form'>;

export const formOf = (task: Pick<Task, 'form'>): Form => task.form as unknown as Form;

/** The command that answers a waiting task, as an example. */
export function exampleCompletion(task: Asked): string {
  const form = formOf(task);
  const place = `wfx task complete ${task.processInstanceId} ${task.nodeId}`;
  if (form.inputType !== 'form') return `${place} ${exampleValue({ ...form, type: form.inputType })}`;
  return [place, ...(form.fields ?? []).map((field) => `-d ${field.name}=${exampleValue(field)}`)].join(' ');
}

/** A value that a field could be answered with. */
export function exampleValue({ type, options }: Pick<Field, 'type' | 'options'>): string {
  const [first, second] = (options ?? []).map(({ value }) => String(value)).filter((text) => /^[\w.-]+$/.test(text));
  if (type === 'checkbox' && options === undefined) return 'true';
  if (type === 'checkbox') return [first, second].filter((text) => text !== undefined).join(',') || 'VALUE,VALUE';
  if (first !== undefined) return first;
  return { number: '5', date: '2027-01-31', file: 'PATH' }[type as string] ?? 'TEXT';
}

/** The command that would give a waiting token what it waits for; undefined where no command can. */
export function releasing(processInstanceId: string, wait: Wait): string | undefined {
  const { kind, nodeId, form, event, childInstanceId, handler } = wait;
  if (kind === 'TASK' && form !== undefined) return exampleCompletion({ processInstanceId, nodeId, form });
  if (kind === 'CHILD' && childInstanceId !== undefined) return `wfx why ${childInstanceId}`;
  if (kind === 'WORKER' && handler !== undefined) return 'wfx worker --dir handlers';
  if (event === undefined) return undefined;
  const key = event.correlationKey === undefined ? '' : ` -k ${word(event.correlationKey)}`;
  return `wfx event send ${word(event.eventType)}${key}`;
}

/** The command that goes on from where a run failed, or where it was cancelled from a node that is named. */
export function retrying({
  processInstanceId,
  stateCd,
}: Pick<Explanation, 'processInstanceId' | 'stateCd'>): string | undefined {
  if (stateCd !== 2 && stateCd !== 3) return undefined;
  return `wfx instance retry ${processInstanceId}${stateCd === 2 ? '' : ' --from NODE'}`;
}

/** A text as one word for a POSIX shell. */
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
