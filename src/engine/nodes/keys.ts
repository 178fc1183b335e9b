import type { NodeType, Way } from '../flow.ts';
import { body, nodeId, target } from '../keys/connection.ts';
import type { Compiled, Declaration } from '../keys/declaration.ts';
import { checkOptions, fields, form, INPUT_TYPES, options } from '../keys/form.ts';
import type { At } from '../keys/kind.ts';
import { optional, required, withDefault } from '../keys/record.ts';
import { boolean, choice, errorCode, integer, localVariable, number, plain, script, variable } from '../keys/scalar.ts';
import {
  anyText,
  argv,
  condition,
  countValue,
  json,
  listOf,
  listValue,
  outputs,
  sets,
  text,
  textMap,
  texts,
  value,
  values,
} from '../keys/template.ts';
import { duration, processId, timer } from '../keys/time.ts';
import { message, request, tool } from '../keys/work.ts';

const passes = { connections: 'next', fails: true, timeout: false, retry: false, boundaries: false } as const;
/** Waits for something, and so may time out and carry boundary events. */
const waits = { ...passes, timeout: true, boundaries: true } as const;
/** Does something outside of the engine, which may also be tried again. */
const works = { ...waits, retry: true } as const;
const splits = { ...passes, connections: 'ways' } as const;

const result = optional(variable, 'The variable that gets the result.');
const providerKeys = {
  provider: optional(text, "A provider of the daemon's settings; default: the first one."),
  model: optional(text, "The model; default: the provider's."),
};
const correlationKey = optional(
  text,
  "Tells apart instances that wait for the same name; default: the instance's own.",
);

/** The keys of every node type, beside `type`, `name` and the common ones that the declaration allows. */
export const NODE_KEYS = {
  startEvent: { summary: 'Where an instance begins.', ...passes, fails: false, keys: {} },

  endEvent: {
    summary: 'Ends its token.',
    ...passes,
    connections: 'none',
    fails: false,
    keys: {
      terminate: withDefault(boolean, false, 'Ends the whole scope at once, cancelling what still runs in it.'),
      error: optional(errorCode, 'Ends by throwing an error with this code.'),
    },
    check: (keys: { terminate: boolean; error?: string }, at: At) => {
      if (keys.terminate && keys.error !== undefined) {
        at.key('terminate').error('ONE_OF', 'an end event either terminates its scope or throws an `error`', {
          onKey: true,
        });
      }
    },
  },

  task: { summary: 'Passes through, leaving a log entry.', ...passes, keys: {} },

  setVariable: {
    summary: 'Sets variables.',
    ...passes,
    keys: { set: required(sets, 'Names and their new values; dots reach inside.') },
  },

  scriptTask: {
    summary: 'Runs JavaScript in a sandbox.',
    ...works,
    keys: { script: required(script, 'JavaScript; the variables are globals; its last value is the result.'), result },
  },

  serviceTask: {
    summary: 'Calls out: HTTP, a command, or an email.',
    ...works,
    keys: { result },
    cases: {
      by: 'service',
      of: {
        http: { request: required(request, 'The HTTP request.') },
        command: {
          command: required(argv, 'The command and its arguments, as a list.'),
          cwd: optional(text, 'The folder that it runs in.'),
          environment: optional(textMap, 'Environment values by name.'),
          stdin: optional(anyText, 'What it reads on its standard input.'),
        },
        email: { message: required(message, 'The email.') },
      },
    },
  },

  domainTask: {
    summary: 'Calls a function of your own, or has an external worker do it.',
    ...works,
    keys: {
      handler: required(plain, 'The name of the function.'),
      input: optional(value, 'What it gets.'),
      result,
    },
  },

  userTask: {
    summary: 'Waits for a person to do something.',
    ...waits,
    keys: {
      title: optional(text, 'What is to be done.'),
      assignee: optional(text, 'Who does it.'),
      candidates: optional(texts, 'Who may do it: names, or a reference to a list of them.'),
      form: optional(form, 'What is asked for when it is done.'),
      dueIn: optional(duration, 'When it should be done; only shown. An ISO 8601 duration.'),
    },
  },

  inputNode: {
    summary: 'Waits for input.',
    ...waits,
    keys: {
      formTitle: optional(text, 'Shown above the form.'),
      inputType: required(choice(...INPUT_TYPES), `What is asked for: ${INPUT_TYPES.join(', ')}.`),
      options: optional(options, 'What select, checkbox and radio offer.'),
      fields: optional(fields, 'The fields of inputType form.'),
      required: withDefault(boolean, true, 'An empty answer is refused; default true.'),
      default: optional(value, 'What the form holds at first.'),
    },
    check: (keys: { inputType: string; options?: unknown; fields?: unknown; default?: unknown }, at: At) => {
      checkOptions(keys.inputType, keys.options !== undefined, at);
      checkFields(keys.inputType, keys.fields !== undefined, at);
      if (keys.inputType === 'form' && keys.default !== undefined) {
        const hint = 'give each field its own `default`';
        at.key('default').error('KEY_NOT_APPLICABLE', '`default` has no meaning for form', { onKey: true, hint });
      }
    },
  },

  outputNode: {
    summary: 'Emits a result: logged, and kept in the data.',
    ...passes,
    keys: {},
    either: [{ output: required(outputs, 'Names and values.') }, { value: required(value, 'One value.') }],
  },

  exclusiveGateway: { summary: 'Takes the first way whose condition is true.', ...splits, keys: {} },
  inclusiveGateway: { summary: 'Takes every way whose condition is true; joins them again.', ...splits, keys: {} },
  parallelGateway: { summary: 'Takes every way; joins them again.', ...splits, fails: true, keys: {} },

  ifElse: {
    summary: 'Goes one of two ways.',
    ...passes,
    connections: 'none',
    keys: {
      condition: required(condition, 'A JUEL expression: "${total > 100}".'),
      // biome-ignore lint/suspicious/noThenProperty: the key's name in flow files; nothing awaits a declaration
      then: required(target, 'The node that follows when the condition is true.'),
      else: optional(target, 'The node that follows when it is not; default: the token ends.'),
    },
  },

  loopNode: {
    summary: 'Repeats its body: while a condition is true, for each item, or a number of times.',
    ...waits,
    keys: {
      maxIterations: withDefault(integer(1, 1_000_000_000), 10_000, 'More iterations are an error (LOOP_LIMIT).'),
      nodes: required(body, 'The body.'),
      result,
    },
    either: [
      { condition: required(condition, 'The body runs as long as this is true.') },
      {
        items: required(listValue, 'The body runs once for each item of this list.'),
        as: optional(localVariable, 'A name for the item, beside {loop.item}.'),
        concurrency: withDefault(integer(1, 1000), 1, 'How many iterations may run at once; default 1.'),
      },
      {
        times: required(countValue, 'The body runs this often.'),
        concurrency: withDefault(integer(1, 1000), 1, 'How many iterations may run at once; default 1.'),
      },
    ],
  },

  subProcess: {
    summary: 'Runs a child instance and waits for it.',
    ...waits,
    keys: {
      data: optional(values, 'What the child starts with.'),
      result: optional(variable, "The variable that gets the child's variables."),
    },
    either: [
      { nodes: required(body, 'The nodes of the child, inline.') },
      { processId: required(processId, 'The flow that the child runs.') },
    ],
  },

  callProcess: {
    summary: 'Starts an independent instance and does not wait.',
    ...passes,
    keys: {
      processId: required(processId, 'The flow to start.'),
      data: optional(values, 'What it starts with.'),
      result: optional(variable, 'The variable that gets the id of the new instance.'),
    },
  },

  intermediateCatchEvent: {
    summary: 'Waits for a message, a signal or a time.',
    ...waits,
    keys: { result: optional(variable, 'The variable that gets the data of the event.') },
    either: [
      { message: required(text, 'The name of the message that it waits for.'), correlationKey },
      { signal: required(text, 'The name of the signal that it waits for.'), correlationKey },
      { timer: required(timer, 'A duration, a date or a cron expression.') },
    ],
  },

  intermediateThrowEvent: {
    summary: 'Sends a message or a signal to waiting instances.',
    ...passes,
    keys: { data: optional(values, 'What the event brings.') },
    either: [
      { message: required(text, 'The name of the message.'), correlationKey },
      { signal: required(text, 'The name of the signal.'), correlationKey },
    ],
  },

  boundaryEvent: {
    summary: 'Fires on a time, error, message or signal while its activity runs.',
    ...passes,
    fails: false,
    keys: {
      attachedTo: required(nodeId, 'The activity that it watches.'),
      cancelActivity: withDefault(boolean, true, 'Cancels the activity when it fires; default true.'),
    },
    either: [
      { timer: required(timer, 'A duration, a date or a cron expression.') },
      { error: required(errorCode, 'The error code that it catches; * for all.') },
      { message: required(text, 'The name of the message that it waits for.'), correlationKey },
      { signal: required(text, 'The name of the signal that it waits for.'), correlationKey },
    ],
    check: (keys: { cancelActivity: boolean; error?: string }, at: At) => {
      if (keys.error === undefined || keys.cancelActivity) return;
      const text = 'an error always ends its activity: `cancelActivity: false` has no effect beside `error`';
      at.key('cancelActivity').warning('NO_EFFECT', text, { hint: 'leave it out' });
    },
  },

  aiTask: {
    summary: 'Asks a language model.',
    ...works,
    keys: {
      ...providerKeys,
      prompt: required(text, 'What the model is asked.'),
      system: optional(text, 'How it should answer.'),
      schema: optional(json, 'A JSON Schema that the answer must fit.'),
      temperature: optional(number(0, 2), 'How freely it answers, 0 to 2.'),
      maxTokens: optional(integer(1, 10_000_000), 'The longest answer.'),
      result,
    },
  },

  voiceTask: {
    summary: 'Turns text into speech, or speech into text.',
    ...works,
    keys: { ...providerKeys, result },
    cases: {
      by: 'action',
      of: {
        speak: { text: required(text, 'What is spoken.'), voice: optional(text, 'The voice that speaks.') },
        transcribe: { file: required(value, 'A reference to the file that is written down.') },
      },
    },
  },

  memoryAction: {
    summary: 'Reads or changes memory that outlives instances.',
    ...works,
    keys: {
      scope: withDefault(
        choice('flow', 'organization'),
        'flow',
        'Who shares the memory: flow or organization; default flow.',
      ),
      result,
    },
    cases: {
      by: 'action',
      of: {
        get: { key: required(text, 'The name of the memory.') },
        set: { key: required(text, 'The name of the memory.'), value: required(value, 'What is remembered.') },
        append: {
          key: required(text, 'The name of the memory.'),
          value: required(value, 'What is added to the list.'),
        },
        delete: { key: required(text, 'The name of the memory.') },
        search: {
          query: optional(text, 'What is looked for.'),
          key: optional(text, 'How the names begin that are searched.'),
          value: optional(value, 'What is looked for, where `query` is not given.'),
          limit: optional(integer(1, 1000), 'How many results there are at most.'),
        },
      },
    },
  },

  callAgent: {
    summary: 'Lets an agent work towards a goal.',
    ...works,
    keys: {
      agent: optional(text, 'The name that the agent goes by.'),
      ...providerKeys,
      goal: required(text, 'What it should reach.'),
      system: optional(text, 'How it should work.'),
      tools: optional(listOf('a list of tools', tool), 'What it may use: flows, HTTP requests, MCP servers.'),
      maxSteps: withDefault(integer(1, 1000), 20, 'How many steps it takes at most; default 20.'),
      result,
    },
  },
} as const satisfies Record<NodeType, Declaration>;

/** The compiled own keys of a node of type `T`; a gateway's `ways` are its `next`, with what a way knows beyond. */
export type KeysOf<T extends NodeType> = Compiled<(typeof NODE_KEYS)[T]> &
  ((typeof NODE_KEYS)[T]['connections'] extends 'ways' ? { readonly ways: readonly Way[] } : unknown);

function checkFields(inputType: string, given: boolean, at: At): void {
  if (inputType === 'form' && !given) {
    const hint = 'fields: [{ name: amount, type: number }]';
    at.warning('NO_FIELDS', 'a form without `fields` shows nothing to fill in, and takes any data', {
      hint,
      onKey: true,
    });
  } else if (inputType !== 'form' && given) {
    at.key('fields').error('KEY_NOT_APPLICABLE', `\`fields\` belongs to inputType form, not ${inputType}`, {
      onKey: true,
    });
  }
}
