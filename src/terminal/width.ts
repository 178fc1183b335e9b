/** Characters that take two columns (East Asian wide, most emoji) and none (marks, joiners, variation selectors). */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const NONE = /\p{M}|[\u200b\u200c]|\u200d|\ufe0f/u;

/** Columns that `text` takes on a terminal. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += NONE.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** `text` cut to `width` columns, with an ellipsis where something is missing. */
export function fitted(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let result = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    result += character;
  }
  return `${result}…`;
}

export const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));
