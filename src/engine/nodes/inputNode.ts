import type { Json, JsonObject } from '../json.ts';
import { defineNode } from '../node.ts';
import { resolveFields, resolveOptions } from '../task.ts';
import type { KeysOf } from './keys.ts';

export const inputNode = defineNode<KeysOf<'inputNode'>>({
  enter(turn, node) {
    const { formTitle, inputType, options, fields, required } = node.keys;
    const initial = node.keys.default;
    const form: Record<string, Json> = {
      title: formTitle === undefined ? node.name : turn.text(formTitle),
      inputType,
      required,
    };
    if (options !== undefined) form['options'] = resolveOptions(turn, options);
    if (fields !== undefined) form['fields'] = resolveFields(turn, fields);
    if (initial !== undefined) form['default'] = turn.value(initial);
    turn.wait({ form } as JsonObject);
  },
});
