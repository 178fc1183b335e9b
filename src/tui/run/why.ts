import { plain } from '../../client/index.ts';
import type { Explanation, Wait } from '../../contract/types.ts';
import { releasing, retrying } from '../../terminal/commands.ts';
import { shownTime } from '../../terminal/shown.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span, wrapped } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Pane } from '../parts/pane.ts';
import type { Paint, Tone } from '../theme.ts';
import { ago, brief, inOwnTime } from '../times.ts';
import { inSight, scroll, Window } from '../window.ts';

type Explained = Omit<Explanation, 'children'>;
interface Told {
  readonly text: string;
  readonly tone?: Tone;
  readonly indent: number;
}

/** What a run waits for, in sentences: since when, what would release it, and what nearly did. */
export class Why implements Pane {
  readonly name = 'why';
  readonly #paint: () => Paint;
  readonly #explanation: () => Explanation | undefined;
  readonly #window = new Window();
  #length = 0;

  constructor(paint: () => Paint, explanation: () => Explanation | undefined) {
    this.#paint = paint;
    this.#explanation = explanation;
  }

  bindings(): readonly Binding[] {
    return [];
  }

  type({ name }: Key): boolean {
    return scroll(name, this.#window, this.#length);
  }

  lines({ width, height }: Size): readonly string[] {
    const paint = this.#paint();
    const explanation = this.#explanation();
    if (explanation === undefined) return [lineOf(paint, [{ text: ' Asking …', tone: 'dim' }], width)];
    const told = [explanation, ...explanation.children].flatMap(tell);
    const lines = told.flatMap((one) => toldLines(one, width));
    this.#length = lines.length;
    return inSight(lines, this.#window, height).map((line) => lineOf(paint, [line], width));
  }
}

/** A sentence on as many lines as it takes; what begins with a sign hangs behind it. */
function toldLines({ text, tone, indent }: Told, width: number): readonly Span[] {
  const hang = /^[→!] /.test(text) ? 2 : 0;
  const room = Math.max(20, width - indent - hang - 2);
  return wrapped(text.slice(hang), room).map((line, i) => {
    const before = i === 0 ? text.slice(0, hang) : ' '.repeat(hang);
    return { text: `${' '.repeat(indent + 1)}${before}${line}`, tone };
  });
}

function tell(explained: Explained): readonly Told[] {
  const { processInstanceId, processName, sentence, waits, total, releases, queuedStarts } = explained;
  const retry = retrying(explained);
  return [
    { text: `${plain(processName)} …${processInstanceId.slice(-6)}`, tone: 'title', indent: 0 },
    { text: inOwnTime(sentence), indent: 0 },
    ...releases.map((release): Told => ({ text: `→ ${inOwnTime(release.sentence)}`, indent: 2 })),
    ...(retry === undefined ? [] : [{ text: retry, tone: 'accent', indent: 4 } satisfies Told]),
    ...waits.flatMap((wait) => tellWait(processInstanceId, wait)),
    ...(total > waits.length
      ? [{ text: `and ${total - waits.length} more tokens`, tone: 'dim', indent: 2 } satisfies Told]
      : []),
    ...queuedStarts.map(
      (at): Told => ({ text: `The scheduled start of ${shownTime(at)} waits for its end.`, indent: 0 }),
    ),
    { text: '', indent: 0 },
  ];
}

function tellWait(processInstanceId: string, wait: Wait): readonly Told[] {
  const { nodeId, nodeName, iteration, since, releases, nearMisses } = wait;
  const where = `${nodeName === nodeId ? nodeId : `${nodeName} (${nodeId})`}${iteration === undefined ? '' : `, iteration ${iteration}`}`;
  const command = releasing(processInstanceId, wait);
  return [
    { text: '', indent: 0 },
    { text: `${plain(where)}, for ${ago(Date.parse(since))}, since ${shownTime(since)}`, tone: 'accent', indent: 0 },
    { text: inOwnTime(wait.sentence), indent: 2 },
    ...releases.flatMap(({ sentence, at }, i): readonly Told[] => [
      { text: `→ ${at === undefined ? '' : `${shownTime(at)}${ahead(at)}: `}${inOwnTime(sentence)}`, indent: 2 },
      ...(i === 0 && command !== undefined ? [{ text: plain(command), tone: 'info', indent: 4 } satisfies Told] : []),
    ]),
    ...nearMisses.map(
      ({ sentence, at }): Told => ({
        text: `! ${at === undefined ? '' : `${shownTime(at)}: `}${inOwnTime(sentence)}`,
        tone: 'warn',
        indent: 2,
      }),
    ),
  ];
}

/** How long it is until then. */
function ahead(at: string): string {
  const ms = Date.parse(at) - Date.now();
  return ms > 0 ? ` (in ${brief(ms)})` : '';
}
