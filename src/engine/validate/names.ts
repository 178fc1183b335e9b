import { distanceWithin } from '../keys/suggest.ts';
import type { ReadBody } from '../parse/nodes.ts';
import type { File } from '../parse/place.ts';

/** Beyond this many names the comparison would cost more time than it is worth. */
const MAX_NAMES = 500;

/** Variables that the engine sets (interface "Variables set by triggers", "Input Node"; decisions §4). */
export const BUILT_IN: readonly string[] = [
  'env',
  'error',
  'loop',
  'inputValue',
  'inputNodeAction',
  'formData',
  'webhookPayload',
  'webhookEventType',
  'webhookHeaders',
  'webhookProvider',
  'webhookEventId',
  'webhookTraceId',
  'webhookRawBody',
  'webhookEventTimestamp',
  'emailSubject',
  'emailBody',
  'emailSender',
  'emailRecipients',
  'emailAttachments',
  'emailMessageId',
  'emailDate',
  'emailTruncated',
];

/**
 * Warns of a variable that nothing sets while another of almost the same name is set. Start data may bring any name, so
 * a name that resembles none is never a problem here.
 */
export function checkNames({ set, used }: File): void {
  if (used.size > MAX_NAMES || set.size > MAX_NAMES) return;
  const known = [...set.keys(), ...BUILT_IN];
  for (const [name, places] of used) {
    const [first] = places.values();
    if (first === undefined || known.includes(name)) continue;
    const meant = known.find((other) => isSlip(name, other));
    if (meant === undefined) continue;
    first.at.warning('UNKNOWN_VARIABLE', `nothing in the flow sets \`${name}\``, {
      hint: `did you mean \`${meant}\`?`,
      offset: first.offset,
    });
  }
}

/** One letter off, or two in a long name; `order` beside `orders` or `item2` beside `item1` is no slip. */
function isSlip(name: string, other: string): boolean {
  if (Math.min(name.length, other.length) < 4 || name.length > 64 || other.length > 64) return false;
  if (`${name}s` === other || `${other}s` === name || /\d$/u.test(name) || /\d$/u.test(other)) return false;
  if (name.toLowerCase() === other.toLowerCase()) return true;
  const limit = Math.min(name.length, other.length) >= 9 ? 3 : 2;
  return distanceWithin(name, other, limit) < limit;
}

/** Warns of `{loop.index}` and the like where no loop is around: there it has no value, unless a variable bears the name. */
export function checkLoopNames(root: ReadBody, { set, used }: File): void {
  const places = used.get('loop');
  if (places === undefined || set.has('loop')) return;
  const inside = nodesOfLoops(root);
  for (const [node, use] of places) {
    if (node === '' || inside.has(node)) continue;
    use.at.warning('OUTSIDE_LOOP', '`loop` has a value only inside of a loopNode', {
      hint: 'give the loop a `result`, or set a variable in its body',
      offset: use.offset,
    });
  }
}

/** The loops, whose condition may read `loop.index`, and all nodes in their bodies. */
function nodesOfLoops(body: ReadBody, inLoop = false, found = new Set<string>()): ReadonlySet<string> {
  for (const { id, type, inner } of body.nodes.values()) {
    const loops = inLoop || type === 'loopNode';
    if (loops) found.add(id);
    if (inner !== undefined) nodesOfLoops(inner, loops, found);
  }
  return found;
}
