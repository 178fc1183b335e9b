import { widthOf } from '../../terminal/width.ts';
import type { Size } from '../panel.ts';
import type { Paint } from '../theme.ts';
import { toHeight } from './lines.tsx';

/** Columns of a line without the codes that colour it. */
const shownWidth = (line: string): number => widthOf(line.replace(/\u001b\[[\d;]*m/g, ''));

/** Lines with a frame around them, in the middle of `inside`. */
export function boxLines(
  paint: Paint,
  lines: readonly string[],
  {
    width,
    inside,
    title = '',
    foot = '',
  }: { readonly width: number; readonly inside: Size; readonly title?: string; readonly foot?: string },
): readonly string[] {
  const left = ' '.repeat(Math.max(0, Math.floor((inside.width - width) / 2)));
  const top = Math.max(0, Math.floor((inside.height - lines.length - 2) / 2));
  const edge = (text: string): string => paint('dim', text);
  const heading = title === '' ? '' : ` ${title} `;
  const footing = foot === '' ? '' : ` ${foot} `;
  const framed = [
    `${left}${edge('╭─')}${paint('title', heading)}${edge(`${'─'.repeat(Math.max(0, width - 3 - widthOf(heading)))}╮`)}`,
    ...lines.slice(0, inside.height - 2).map((line) => {
      const space = Math.max(0, width - 4 - shownWidth(line));
      return `${left}${edge('│')} ${line}${' '.repeat(space)} ${edge('│')}`;
    }),
    `${left}${edge(`╰${'─'.repeat(width - 3 - widthOf(footing))}`)}${paint('accent', footing)}${edge('─╯')}`,
  ];
  return toHeight([...Array<string>(top).fill(' '), ...framed], inside.height);
}
