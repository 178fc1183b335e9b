import { Box, useStdout } from 'ink';
import { type ReactElement, useEffect, useState, useSyncExternalStore } from 'react';
import { plain } from '../client/index.ts';
import { widthOf } from '../terminal/width.ts';
import type { App } from './app.ts';
import { shownKey } from './keys.ts';
import { betweenEnds, lineOf, type Span, wrapped } from './line.ts';
import type { Size } from './panel.ts';
import { Lines } from './parts/lines.tsx';
import type { Prompt } from './prompt.ts';

/** Of a longer message so many lines are shown. */
const MOST_NOTICE = 3;
const SMALLEST: Size = { width: 40, height: 10 };

/** The whole screen: a header, what the panel on top shows, a line for messages and prompts, and the keys. */
export function Shell({ app, size: fixed }: { readonly app: App; readonly size?: Size }): ReactElement {
  useSyncExternalStore(app.watch, app.version);
  const terminal = useTerminalSize();
  useSeconds(app);
  const size = fixed ?? terminal;
  const { width, height } = size;
  if (width < SMALLEST.width || height < SMALLEST.height)
    return (
      <Lines
        lines={wrapped(
          `wfx needs ${SMALLEST.width} columns and ${SMALLEST.height} lines: make this window larger.`,
          width,
        ).slice(0, height)}
      />
    );
  const notice = app.prompt === undefined ? noticeLines(app, width) : [promptLine(app, app.prompt, width)];
  const room = height - 2 - notice.length;
  return (
    <Box flexDirection="column" width={width} height={height}>
      <Lines lines={[header(app, width)]} />
      <Box height={room} width={width} flexDirection="column" overflow="hidden">
        {app.panel.view({ width, height: room })}
      </Box>
      <Lines lines={[...notice, footer(app, width)]} />
    </Box>
  );
}

function useTerminalSize(): Size {
  const { stdout } = useStdout();
  const read = (): Size => ({ width: stdout.columns || 80, height: stdout.rows || 24 });
  const [size, setSize] = useState(read);
  useEffect(() => {
    const onResize = (): void => setSize(read());
    stdout.on('resize', onResize);
    return () => void stdout.off('resize', onResize);
  });
  return size;
}

/** Ages and durations go on by themselves. */
function useSeconds(app: App): void {
  useEffect(() => {
    const timer = setInterval(() => app.changed(), 1000);
    return () => clearInterval(timer);
  }, [app]);
}

function header(app: App, width: number): string {
  const { paint } = app.settings;
  const trail = trailOf(
    app.trail.map((title) => plain(title, 60)),
    width - 40,
  );
  const left: Span[] = [
    { text: ' wfx ', tone: 'title' },
    { text: `${trail} `, tone: 'accent' },
    { text: app.panel === app.screen ? (app.screen.note ?? '') : '', tone: 'dim' },
  ];
  const readOnly: Span[] = app.readOnly ? [{ text: ' read-only ', tone: 'warn' }] : [];
  return betweenEnds(paint, left, [...readOnly, ...connection(app, width)], width, 'bar');
}

/** The way here; where it is long, its beginning and its end. */
function trailOf(titles: readonly string[], width: number): string {
  const whole = titles.join(' › ');
  return titles.length < 3 || widthOf(whole) <= width ? whole : [titles[0], '…', titles.at(-1)].join(' › ');
}

function connection({ live, place }: App, width: number): readonly Span[] {
  if (live.state === 'live')
    return [...(width < 100 ? [] : [{ text: `${plain(place, 60)} ` }]), { text: '● live ', tone: 'ok' }];
  if (live.state === 'connecting') return [{ text: '○ connecting ', tone: 'dim' }];
  return [{ text: ` ○ ${live.refused ? 'refused' : 'reconnecting'} for ${live.away} s `, tone: 'warn' }];
}

/** What is being written, and dimmed behind it what it may become. */
function promptLine({ settings: { paint } }: App, { sign, field, hint, rest }: Prompt, width: number): string {
  const room = Math.max(1, Math.min(widthOf(field.text) + 1, width - 1));
  const [text = ''] = field.view(paint, room, 1, true);
  const [next = '', ...others] = rest;
  // The cursor stands on what would come next.
  const written = rest === '' ? text : field.text + paint('cursor', next);
  const behind = rest === '' ? `  ${plain(hint, 300)}` : plain(others.join(''));
  return (
    paint('accent', sign) + written + lineOf(paint, [{ text: behind, tone: 'dim' }], Math.max(0, width - 1 - room))
  );
}

/** What was said last, or why the daemon is away: one line, or a few where that is too short. */
function noticeLines({ message, live, settings: { paint } }: App, width: number): readonly string[] {
  const away = live.state === 'reconnecting' ? plain(live.reason, 1000) : '';
  const { text, tone } = message ?? { text: away, tone: 'warn' as const };
  return wrapped(text, width - 2)
    .slice(0, MOST_NOTICE)
    .map((line) => lineOf(paint, [{ text: ` ${line}`, tone }], width));
}

/** As many keys as there is room for; `?` always. */
function footer(app: App, width: number): string {
  const { paint } = app.settings;
  const shown = app.bindings().filter(({ quiet }) => quiet !== true);
  const help = shown.filter(({ keys }) => keys.includes('?'));
  const others = shown.filter((binding) => !help.includes(binding));
  const spans: Span[] = [];
  let left = width - help.reduce((sum, binding) => sum + widthOf(hintOf(binding)), 0);
  for (const binding of [...others]) {
    const text = hintOf(binding);
    if (widthOf(text) > left) continue;
    left -= widthOf(text);
    spans.push(...hint(binding));
  }
  return lineOf(paint, [...spans, ...help.flatMap(hint)], width);
}

type Hint = { readonly keys: readonly string[]; readonly does: string };
const hintOf = ({ keys, does }: Hint): string => ` ${shownKey(keys[0] ?? '')} ${does} `;
const hint = ({ keys, does }: Hint): readonly Span[] => [
  { text: ` ${shownKey(keys[0] ?? '')}`, tone: 'accent' },
  { text: ` ${does} `, tone: 'dim' },
];
