const tasks = Array.from({ length: 8 }, (_, i) => `  t${i + 1}: { type: task, next: ${i < 7 ? `t${i + 2}` : 'end'} }`);

/** Start, eight tasks, end. */
export const linearFlow = `
id: 0b0f7c2e-4a55-4c0d-9a53-6a6d3c1a2b10
name: Ten nodes
nodes:
  start: { type: startEvent, next: t1 }
${tasks.join('\n')}
  end: { type: endEvent }
`;
