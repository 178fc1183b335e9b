/** The examples under a command's help: what to type, and what it does. */
export function examples(...lines: readonly (readonly [command: string, meaning: string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length));
  return ['', 'Examples:', ...lines.map(([command, meaning]) => `  ${command.padEnd(width)}  ${meaning}`)].join('\n');
}

/** An option that may be given several times, in order. */
export const collected = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];
