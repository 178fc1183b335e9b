import type { Json } from '../json.ts';
import { defineNode } from '../node.ts';
import { resolveFields } from '../task.ts';
import { dueAt } from '../time.ts';
import type { KeysOf } from './keys.ts';

export const userTask = defineNode<KeysOf<'userTask'>>({
  enter(turn, node) {
    const { title, assignee, candidates, form, dueIn } = node.keys;
    const shown = form?.title ?? title;
    const fields = form === undefined ? [] : resolveFields(turn, form.fields);
    const task: Record<string, Json> = {
      form: { title: shown === undefined ? node.name : turn.text(shown), inputType: 'form', required: false, fields },
    };
    if (assignee !== undefined) task['assignee'] = turn.text(assignee);
    if (candidates !== undefined) task['candidates'] = turn.texts(candidates);
    if (dueIn !== undefined) {
      const due = dueAt(turn.text(dueIn), turn.context.at);
      if ('problem' in due) return turn.fail('TIMER_INVALID', `dueIn is not a duration: ${due.problem}`);
      task['dueAt'] = due.due;
    }
    turn.wait(task);
  },
});
