/** What a colour says; a theme says which colour that is. */
export type Tone =
  | 'plain'
  | 'title'
  | 'dim'
  | 'ok'
  | 'warn'
  | 'bad'
  | 'info'
  | 'accent'
  | 'changed'
  | 'selected'
  | 'marked'
  | 'cursor'
  | 'bar';

type Codes = readonly [open: string, close: string];
export type ThemeName = 'dark' | 'light' | 'mono';

/** Text in a tone. */
export type Paint = (tone: Tone, text: string) => string;

const FOREGROUND = '39';
const BACKGROUND = '49';
const BOLD = '22';
const colour = (code: string): Codes => [code, FOREGROUND];

const DARK: Readonly<Record<Tone, Codes | undefined>> = {
  plain: undefined,
  title: ['1', BOLD],
  dim: colour('38;5;245'),
  ok: colour('32'),
  warn: colour('33'),
  bad: colour('91'),
  info: colour('36'),
  accent: colour('38;5;75'),
  changed: ['1;33', `${BOLD};39`],
  selected: ['48;5;238', BACKGROUND],
  marked: colour('35'),
  cursor: ['7', '27'],
  bar: ['48;5;236', BACKGROUND],
};
const LIGHT: typeof DARK = {
  ...DARK,
  dim: colour('38;5;243'),
  ok: colour('38;5;28'),
  warn: colour('38;5;130'),
  bad: colour('38;5;160'),
  info: colour('38;5;30'),
  accent: colour('38;5;26'),
  changed: ['1;38;5;130', `${BOLD};39`],
  selected: ['48;5;253', BACKGROUND],
  marked: colour('38;5;90'),
  bar: ['48;5;254', BACKGROUND],
};
/** No colour at all: weight and inversion alone. */
const MONO: typeof DARK = {
  ...DARK,
  dim: ['2', BOLD],
  ok: undefined,
  warn: undefined,
  bad: ['1', BOLD],
  info: undefined,
  accent: undefined,
  changed: ['1', BOLD],
  selected: ['7', '27'],
  marked: ['1', BOLD],
  bar: undefined,
};
const THEMES: Readonly<Record<ThemeName, typeof DARK>> = { dark: DARK, light: LIGHT, mono: MONO };
export const THEME_NAMES = Object.keys(THEMES) as readonly ThemeName[];

export function painter(theme: ThemeName): Paint {
  const tones = THEMES[theme];
  return (tone, text) => {
    const codes = tones[tone];
    return codes === undefined || text === '' ? text : `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
  };
}

/**
 * The theme that fits a terminal: none of colour with NO_COLOR or a dumb terminal, light where COLORFGBG (set by some
 * terminals as `foreground;background`) says that the background is.
 */
export function themeFor(env: Readonly<Record<string, string | undefined>>): ThemeName {
  if ((env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb') return 'mono';
  const background = Number(/;(\d+)$/.exec(env['COLORFGBG'] ?? '')?.[1] ?? 0);
  return background === 7 || background >= 9 ? 'light' : 'dark';
}
