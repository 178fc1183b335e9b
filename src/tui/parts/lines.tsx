import { Text } from 'ink';
import { type ReactElement, useContext } from 'react';
import { PreparedLines } from '../prepared.ts';

/** Lines that are as wide as they may be already, drawn as they are. */
export function Lines({ lines }: { readonly lines: readonly string[] }): ReactElement | null {
  const prepared = useContext(PreparedLines);
  const shown = prepared === undefined ? lines : lines.map((line) => prepared.token(line));
  return shown.length === 0 ? null : <Text wrap="truncate">{shown.join('\n')}</Text>;
}

/** Lines cut and filled to `height`, so that what stands below keeps its place. */
export const toHeight = (lines: readonly string[], height: number): readonly string[] =>
  lines.length >= height ? lines.slice(0, height) : [...lines, ...Array<string>(height - lines.length).fill(' ')];
