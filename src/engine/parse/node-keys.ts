import type { Connection, NodeType, Retry } from '../flow.ts';
import type { Json, JsonObject } from '../json.ts';
import { target, targets, ways } from '../keys/connection.ts';
import type { Declaration } from '../keys/declaration.ts';
import { type At, withArticle } from '../keys/kind.ts';
import { type Keys, optional, readKeys, required } from '../keys/record.ts';
import { choice, plain } from '../keys/scalar.ts';
import { closest, unknownKey } from '../keys/suggest.ts';
import { duration } from '../keys/time.ts';
import { retry } from '../keys/work.ts';
import type { Template } from '../template.ts';

export interface CommonKeys {
  readonly name?: string;
  readonly next?: readonly Connection[];
  readonly errorFlow?: Connection;
  readonly timeoutFlow?: Connection;
  readonly timeout?: Template;
  readonly retry?: Retry;
}

/** The keys that a node of this kind shares with others, beside `type`. */
export function commonKeys(declaration: Declaration): Keys {
  const { connections, fails, timeout } = declaration;
  return {
    name: optional(plain, 'What people see instead of the id.'),
    ...(connections === 'next' && {
      next: optional(targets, 'The node that follows; a list forks. None: the token ends here.'),
    }),
    ...(connections === 'ways' && { next: optional(ways, 'The ways out, each a node or {to, condition, default}.') }),
    ...(fails && { errorFlow: optional(target, 'The node that follows when this one fails or is cancelled.') }),
    ...(timeout && {
      timeout: optional(duration, 'How long the node may take, an ISO 8601 duration.'),
      timeoutFlow: optional(target, 'The node that follows when the timeout passes.'),
    }),
    ...(declaration.retry && { retry: optional(retry, 'How work that failed is tried again.') }),
  };
}

/** The compiled keys of a node, or undefined when any is wrong. */
export function readNodeKeys(
  type: NodeType,
  declaration: Declaration,
  raw: JsonObject,
  at: At,
): { readonly common: CommonKeys; readonly own: JsonObject } | undefined {
  const commons = commonKeys(declaration);
  const variant = variantOf(type, declaration, raw, at);
  const own: Keys = { ...declaration.keys, ...variant?.keys };
  refuseOtherKeys(type, declaration, { ...commons, ...own }, variant, raw, at);
  const common = readKeys(commons, raw, at);
  const compiled = readKeys(own, raw, at);
  if (common === undefined || compiled === undefined || variant === undefined) return undefined;
  declaration.check?.(compiled as never, at);
  return { common, own: compiled as JsonObject };
}

interface Variant {
  readonly keys: Keys;
  /** What the node is, for messages: `loopNode with items`. */
  readonly of: string;
}

/** The keys of the node's variant; undefined when it can't be told, which is reported. */
function variantOf(type: NodeType, declaration: Declaration, raw: JsonObject, at: At): Variant | undefined {
  const { either, cases } = declaration;
  if (either !== undefined) return chosen(type, either, raw, at);
  if (cases !== undefined) return caseOf(type, cases, raw, at);
  return { keys: {}, of: type };
}

function chosen(type: NodeType, either: readonly Keys[], raw: JsonObject, at: At): Variant | undefined {
  const names = either.map((keys) => Object.keys(keys)[0] as string);
  const given = names.filter((name) => Object.hasOwn(raw, name));
  const [name, second] = given;
  const list = names
    .map((each) => `\`${each}\``)
    .join(', ')
    .replace(/, ([^,]*)$/u, ' or $1');
  if (name === undefined) {
    const slip = Object.keys(raw).find((key) => !Object.hasOwn(raw, closest(key, names) ?? key));
    return at.error('ONE_OF', `${withArticle(type)} needs ${list}`, {
      onKey: true,
      ...(slip && { hint: `did you mean \`${closest(slip, names)}\` by \`${slip}\`?` }),
    });
  }
  if (second !== undefined) {
    return at
      .key(second)
      .error('ONE_OF', `${withArticle(type)} takes only one of ${list}, and has \`${name}\` already`, { onKey: true });
  }
  return { keys: either[names.indexOf(name)] as Keys, of: `${type} with \`${name}\`` };
}

function caseOf(
  type: NodeType,
  cases: NonNullable<Declaration['cases']>,
  raw: JsonObject,
  at: At,
): Variant | undefined {
  const kind = choice(...Object.keys(cases.of));
  const values = Object.keys(cases.of).join(', ');
  if (!Object.hasOwn(raw, cases.by)) {
    const guess = guessCase(cases, raw);
    const hint = guess === undefined ? {} : { hint: `write \`${cases.by}: ${guess}\`` };
    const message = `\`${cases.by}\` is missing: ${withArticle(type)} is one of ${values}`;
    return at.key(cases.by).error('MISSING_KEY', message, { onKey: true, ...hint });
  }
  const place = at.key(cases.by);
  const value = place.broken ? undefined : kind.read(raw[cases.by] as Json, place);
  if (value === undefined) return undefined;
  const tag = required(kind, `One of ${values}.`);
  return { keys: { [cases.by]: tag, ...(cases.of[value] as Keys) }, of: `${type} with \`${cases.by}: ${value}\`` };
}

/** The case that the other keys speak for. */
function guessCase(cases: NonNullable<Declaration['cases']>, raw: JsonObject): string | undefined {
  const fits = Object.keys(cases.of).filter((value) =>
    Object.keys(cases.of[value] as Keys).some((key) => Object.hasOwn(raw, key)),
  );
  return fits.length === 1 ? fits[0] : undefined;
}

function refuseOtherKeys(
  type: NodeType,
  declaration: Declaration,
  known: Keys,
  variant: Variant | undefined,
  raw: JsonObject,
  at: At,
): void {
  const possible = allKeys(declaration);
  const names = ['type', ...Object.keys(known), ...(variant === undefined ? possible : [])];
  for (const name of Object.keys(raw)) {
    if (names.includes(name)) continue;
    const hint = MISPLACED[`${type}.${name}`] ?? misplaced(declaration, name);
    const place = at.key(name);
    if (possible.has(name))
      place.error('KEY_NOT_APPLICABLE', `\`${name}\` does not go with ${withArticle(variant?.of ?? type)}`, {
        onKey: true,
      });
    else if (hint !== undefined)
      place.error('UNKNOWN_KEY', `${withArticle(type)} has no key \`${name}\``, { onKey: true, hint });
    else unknownKey(name, names, raw, at, withArticle(type));
  }
}

/** All keys that a node of this type may have in any variant. */
export function allKeys(declaration: Declaration): ReadonlySet<string> {
  const sets = [declaration.keys, ...(declaration.either ?? []), ...Object.values(declaration.cases?.of ?? {})];
  return new Set(sets.flatMap((keys) => Object.keys(keys)));
}

const MISPLACED: Readonly<Record<string, string>> = {
  'ifElse.next': 'name the nodes that follow in `then` and `else`',
  'endEvent.next': 'an end event is where its token ends',
  'boundaryEvent.errorFlow': 'a boundary event leads on by `next`',
  'boundaryEvent.timeout': 'write `timer`',
  'exclusiveGateway.condition': 'conditions stand on the ways: next: [{ to: …, condition: "${…}" }]',
  'inclusiveGateway.condition': 'conditions stand on the ways: next: [{ to: …, condition: "${…}" }]',
  'exclusiveGateway.default': 'the default is one of the ways: next: [{ to: …, default: true }]',
  'inclusiveGateway.default': 'the default is one of the ways: next: [{ to: …, default: true }]',
};

/** Common keys that this type of node does without. */
function misplaced(declaration: Declaration, name: string): string | undefined {
  if (name === 'timeout' || name === 'timeoutFlow') return 'this node takes no time of its own: leave it out';
  if (name === 'retry')
    return declaration.timeout
      ? 'only nodes that do outside work are tried again'
      : 'this node does no outside work: leave it out';
  if (name === 'errorFlow' && !declaration.fails) return "this node can't fail: leave it out";
  return undefined;
}
