import type { Json } from '../json.ts';
import { shortened, withArticle } from '../keys/kind.ts';
import { NODE_KEYS } from '../nodes/keys.ts';
import type { ReadBody, ReadNode } from '../parse/nodes.ts';

type Propose = (id: string, ids: Iterable<string>) => string | undefined;

/** Boundary events sit on an activity of their own body, and no two on one activity catch the same code (semantics 10). */
export function checkBoundaries(body: ReadBody, propose: Propose): void {
  const caught = new Map<string, string>();
  for (const node of body.nodes.values()) {
    if (node.type !== 'boundaryEvent') continue;
    const activity = node.raw['attachedTo'];
    if (typeof activity !== 'string' || activity === '') continue;
    checkActivity(node, activity, body, propose);
    const code = node.raw['error'];
    if (typeof code === 'string') checkCode(node, activity, code, caught);
  }
}

function checkActivity(node: ReadNode, activity: string, body: ReadBody, propose: Propose): void {
  const at = node.at.key('attachedTo');
  const host = body.nodes.get(activity);
  if (host === undefined) {
    const meant = propose(activity, body.nodes.keys());
    const message = `there is no node ${shortened(activity)} in this body to attach to`;
    at.error('UNKNOWN_NODE', message, meant === undefined ? {} : { hint: `did you mean \`${meant}\`?` });
  } else if (host.declaration?.boundaries === false) {
    const message = `${withArticle(host.type ?? 'node')} is no activity that a boundary event can watch`;
    at.error('BAD_ATTACHMENT', message, { hint: `it can watch ${WATCHED.join(', ')}` });
  }
}

const WATCHED = Object.entries(NODE_KEYS).flatMap(([type, declaration]) => (declaration.boundaries ? [type] : []));

function checkCode(node: ReadNode, activity: string, code: Json, caught: Map<string, string>): void {
  const key = JSON.stringify([activity, code]);
  const other = caught.get(key);
  if (other === undefined) {
    caught.set(key, node.id);
    return;
  }
  const what = code === '*' ? 'every error' : `the error ${JSON.stringify(code)}`;
  node.at.key('error').error('SAME_ERROR_TWICE', `\`${other}\` catches ${what} of \`${activity}\` already`);
}
