import type { Trigger } from '../flow.ts';
import { isObject, type JsonObject } from '../json.ts';
import { body } from '../keys/connection.ts';
import { type At, type Kind, mismatch } from '../keys/kind.ts';
import { type Keys, optional, readKeys, recordSchema, refuseOthers, required, withDefault } from '../keys/record.ts';
import { boolean, choice, plain, uuid } from '../keys/scalar.ts';
import { items } from '../keys/template.ts';
import { cronExpression, timezone } from '../keys/time.ts';

const MAX_TRIGGERS = 1000;

/** Empty means the same as none. */
const filter: Kind<string> = {
  schema: { type: 'string' },
  read: (value, at) => (typeof value === 'string' ? value : mismatch('a text', value, at)),
};

/** A type of events; `*` at its end stands for any rest, and nowhere else for anything. */
const eventType: Kind<string> = {
  schema: filter.schema,
  read(value, at) {
    const text = filter.read(value, at);
    if (text?.slice(0, -1).includes('*'))
      at.warning('LITERAL_STAR', `\`*\` stands for any rest at the end alone: here it is an ordinary character`, {
        hint: 'leave out `eventType` to take all events, and choose in the flow',
      });
    return text;
  },
};

const TRIGGER_KEYS = {
  webhook: {
    registration: required(plain, 'The id or name of the webhook registration.'),
    eventType: optional(eventType, 'Only events of this type start the flow; none: all do.'),
  },
  schedule: {
    cron: required(cronExpression, 'minute hour day-of-month month day-of-week'),
    timezone: withDefault(timezone, 'UTC', 'An IANA timezone such as Europe/Berlin; default UTC.'),
    catchUp: withDefault(boolean, false, 'Fires once at start when a match was missed; default false.'),
    overlap: withDefault(
      choice('allow', 'skip', 'queue'),
      'allow',
      'While the last run still runs: allow, skip or queue; default allow.',
    ),
  },
  email: {
    connection: required(plain, 'The id or name of the email connection.'),
    subjectContains: optional(filter, 'Only emails whose subject contains this.'),
    senderMatches: optional(filter, 'Only emails from senders that match this.'),
  },
  'on-demand': {},
} as const satisfies Record<string, Keys>;

type TriggerType = keyof typeof TRIGGER_KEYS;
const triggerTypes = choice(...(Object.keys(TRIGGER_KEYS) as TriggerType[]));
const triggerType: Kind<TriggerType> = {
  schema: triggerTypes.schema,
  read: (value, at) => triggerTypes.read(value === 'onDemand' ? 'on-demand' : value, at),
};

/** One thing that starts the flow. */
const trigger: Kind<Trigger> = {
  schema: {
    anyOf: Object.entries(TRIGGER_KEYS).map(([type, keys]) => {
      const names = type === 'on-demand' ? ['on-demand', 'onDemand'] : [type];
      const tag: Keys = { type: required({ ...plain, schema: { enum: names } }, 'What kind of trigger it is.') };
      return recordSchema({ ...tag, ...keys });
    }),
  },
  read(value, at) {
    if (value === 'on-demand' || value === 'onDemand')
      return mismatch('a trigger, a map', value, at, 'write { type: on-demand }');
    if (!isObject(value)) return mismatch('a trigger: a map with a `type`', value, at);
    const head = readKeys({ type: required(triggerType, `one of ${Object.keys(TRIGGER_KEYS).join(', ')}`) }, value, at);
    return head && triggerOf(head.type, value, at);
  },
};

function triggerOf(type: TriggerType, value: JsonObject, at: At): Trigger | undefined {
  const keys: Keys = TRIGGER_KEYS[type];
  refuseOthers(['type', ...Object.keys(keys)], value, at, `a ${type} trigger`);
  const read = readKeys(keys, value, at) as JsonObject | undefined;
  if (read === undefined) return undefined;
  if (type === 'on-demand') return { type: 'onDemand' };
  const filled = Object.fromEntries(Object.entries(read).filter(([, each]) => each !== '')) as JsonObject;
  return { type, ...filled } as Trigger;
}

const triggers: Kind<readonly Trigger[]> = {
  schema: { type: 'array', maxItems: MAX_TRIGGERS, items: trigger.schema },
  read(value, at) {
    if (Array.isArray(value) && value.length > MAX_TRIGGERS)
      return at.error('TOO_MANY_TRIGGERS', `the flow has more than ${MAX_TRIGGERS} triggers`, { onKey: true });
    if (!Array.isArray(value))
      return mismatch('a list of triggers', value, at, isObject(value) ? 'begin the trigger with `- `' : undefined);
    const read = items(trigger, value, at);
    warnOfRepeats(read ?? [], at);
    return read;
  },
};

/** What a schedule is known by is its expression and timezone: a second one with the same would take the place of the first. */
function warnOfRepeats(read: readonly Trigger[], at: At): void {
  const seen = new Set<string>();
  for (const [index, one] of read.entries()) {
    if (one.type !== 'schedule') continue;
    const key = `${one.cron} ${one.timezone}`;
    if (seen.has(key))
      at.item(index).warning('REPEATED_SCHEDULE', 'this schedule is there already: only the last one counts', {
        hint: 'remove one of them',
      });
    seen.add(key);
  }
}

/** What an instance starts with, as plain JSON. */
const variables: Kind<JsonObject> = {
  schema: { type: 'object' },
  read(value, at) {
    if (!isObject(value)) return mismatch('a map of names to values', value, at);
    for (const name of Object.keys(value)) checkVariable(name, at.key(name));
    return value;
  },
};

function checkVariable(name: string, at: At): void {
  at.sets(name);
  if (/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name) && name !== 'env') return;
  const hint = name.includes('.') ? 'nest it: { order: { total: 0 } }' : 'letters, digits and underscores';
  const message = `no reference can reach a variable called ${JSON.stringify(name.slice(0, 80))}`;
  at.warning('BAD_VARIABLE_NAME', message, name === 'env' ? { onKey: true } : { onKey: true, hint });
}

/** The keys of a flow file (decisions §4). */
export const FLOW_KEYS = {
  id: required(uuid, 'a UUID that identifies the flow; `wfx flow init` makes one'),
  name: required(plain, 'what people call the flow'),
  description: optional(filter, 'What the flow is for.'),
  public: withDefault(boolean, false, 'Listed also for callers without WORKFLOW_READ; default false.'),
  variables: withDefault(variables, Object.create(null) as JsonObject, 'Defaults, which start data overrides.'),
  triggers: withDefault(triggers, [], 'What starts the flow, beside the API.'),
  nodes: required(body, 'the nodes by their ids'),
} as const;
