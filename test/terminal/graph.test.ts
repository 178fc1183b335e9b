import t from 'tap';
import { type Flow, graphOf } from '../../src/engine/index.ts';
import { compile } from '../../src/engine/parse.ts';
import { drawGraph } from '../../src/terminal/graph.ts';
import { mermaidOf } from '../../src/terminal/mermaid.ts';

const flowOf = (nodes: string): Flow => {
  const { flow, problems } = compile(`id: 11111111-2222-4333-8444-555555555555\nname: X\nnodes:\n${nodes}`);
  if (flow === undefined) throw new Error(JSON.stringify(problems));
  return flow;
};
const drawn = (nodes: string): string =>
  drawGraph(graphOf(flowOf(nodes)))
    .map((line) =>
      line.kind === 'node' ? `${line.before}o${line.after}${line.node.name}` : `${line.rails} ${line.label}`.trimEnd(),
    )
    .join('\n');

t.test('branches get lanes, join where they meet, and what a branch leads to stands before the next one', async (t) => {
  const text = drawn(`
  start: { type: startEvent, next: ask }
  ask: { type: inputNode, inputType: textbox, timeout: PT2H, next: fork, timeoutFlow: late, errorFlow: end }
  fork: { type: inclusiveGateway, next: [{ to: a, condition: "\${x > 1}" }, { to: b, default: true }] }
  a: { type: task, next: end }
  b: { type: task, next: end }
  late: { type: task, next: end }
  end: { type: endEvent }`);
  t.equal(
    text,
    `
o start
o ask
├─╮ after PT2H
├─┼─╮ on error
o │ │ fork
│ │ │ \${x > 1}
├─┼─┼─╮ otherwise
o │ │ │ a
│ │ │ o b
│ o │ │ late
├─┴─┴─╯
o end`.slice(1),
  );
});

t.test('a way back is told in words', async (t) => {
  const text = drawn(`
  start: { type: startEvent, next: try }
  try: { type: task, next: well }
  well: { type: ifElse, condition: "\${ok}", then: end, else: again }
  again: { type: task, next: try }
  end: { type: endEvent }`);
  t.equal(
    text,
    `
o start
o try
o well
│ then
├─╮ else
o │ end
  o again
  ╰ ↺ back to try`.slice(1),
  );
});

t.test('boundaries hang on their activity, nested nodes stand under theirs', async (t) => {
  const text = drawn(`
  start: { type: startEvent, next: each }
  each:
    type: loopNode
    items: "{orders}"
    nodes:
      pack: { type: task, next: send }
      send: { type: task }
    next: end
  late: { type: boundaryEvent, attachedTo: each, timer: PT1M, cancelActivity: false, next: tell }
  wrong: { type: boundaryEvent, attachedTo: each, error: "*", next: end }
  tell: { type: task }
  end: { type: endEvent }`);
  t.equal(
    text,
    `
o start
o each
│ ┆ o pack
│ ┆ o send
├─╮ on timer PT1M, which goes on
├─┼─╮ on error
│ o │ late
│ o │ tell
│   o wrong
├───╯
o end`.slice(1),
  );
});

t.test('more branches than there is room for are told in words, and each node is drawn once', async (t) => {
  const names = Array.from({ length: 20 }, (_, at) => `n${at}`);
  const text = drawn(`
  start: { type: startEvent, next: fork }
  fork: { type: parallelGateway, next: [${names}] }
${names.map((name) => `  ${name}: { type: task, next: join }`).join('\n')}
  join: { type: parallelGateway }`);
  t.match(text, /→ n12\n.*→ n13/);
  for (const name of names) t.equal(text.match(new RegExp(`o[ │]* ${name}$`, 'gm'))?.length, 1, name);
});

t.test('a Mermaid flowchart has a line for each node and each way, whatever they are called', async (t) => {
  const text = mermaidOf(
    graphOf(
      flowOf(`
  start: { type: startEvent, next: ask }
  ask: { type: ifElse, name: 'Is "x" <b> ok]?', condition: "\${x}", then: end }
  end: { type: endEvent }`),
    ),
  );
  t.equal(
    text,
    `
flowchart TD
  n1(["start"])
  n2{"Is #34;x#34; #60;b#62; ok#93;?"}
  n3(["end"])
  n1 --> n2
  n2 -->|"then"| n3`.slice(1),
  );
});
