import type { Body, Compiled, Flow } from './flow.ts';
import { isObject } from './json.ts';
import { inWords } from './keys/kind.ts';
import { readKeys, refuseOthers } from './keys/record.ts';
import { FLOW_KEYS } from './parse/document.ts';
import { withDistinctIds } from './parse/ids.ts';
import { bodyOf, NodeReader, type ReadBody } from './parse/nodes.ts';
import { type File, Place } from './parse/place.ts';
import { Problems } from './parse/problems.ts';
import { readSource } from './parse/source.ts';
import { validate } from './validate.ts';

/**
 * Reads a flow file, YAML or JSON (decisions §4). Gives the compiled flow, or no flow and at least one problem with
 * severity `error`; warnings come with either. All problems are found at once, in the order of the lines. Never throws,
 * whatever the text; a text over 1 MiB, 10,000 nodes or 64 levels is refused.
 */
export function compile(text: string): Compiled {
  const source = (text.startsWith('\ufeff') ? text.slice(1) : text).replace(/\r(?!\n)/gu, '\n');
  const problems = new Problems(source);
  const flow = readFlow(source, problems);
  const sorted = problems.sorted();
  return flow === undefined || problems.hasErrors ? { problems: sorted } : { flow, problems: sorted };
}

function readFlow(text: string, problems: Problems): Flow | undefined {
  const root = readSource(text, problems);
  if (root === undefined || root.broken) return undefined;
  const file: File = { text, problems, set: new Map(), used: new Map() };
  const at = new Place(file, root);
  if (!isObject(root.value)) {
    const message = `a flow file holds a map with \`id\`, \`name\` and \`nodes\`, but this is ${inWords(root.value, at)}`;
    return at.error('WRONG_TYPE', message);
  }

  const reader = new NodeReader();
  let top: ReadBody | undefined;
  const place = at.ownedBy({
    id: '',
    connect: () => {},
    body(value, nodes): Body | undefined {
      top = reader.read(value, nodes);
      return top && bodyOf(top);
    },
  });
  refuseOthers(Object.keys(FLOW_KEYS), root.value, place, 'a flow');
  const read = readKeys(FLOW_KEYS, root.value, place);
  if (top !== undefined) validate(top, reader.bodies, file);
  if (read === undefined) return undefined;
  const { nodes, ...rest } = read;
  return { ...rest, body: reader.hasTwins && !file.problems.hasErrors ? withDistinctIds(nodes) : nodes };
}
