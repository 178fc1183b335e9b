import { plain } from '../../client/index.ts';
import type { Explanation, Wait } from '../../contract/types.ts';
import { releasing, retrying } from '../../terminal/commands.ts';
import { shownTime } from '../../terminal/shown.ts';
import type { Binding, Key } from '../keys.ts';
import { lineOf, type Span, wrapped } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Pane } from '../parts/pane.ts';
import type { Paint, Tone } from '../theme.ts';
import { ago, brief } from '../times.ts';
import { stepOf, Window } from '../window.ts';

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
    const step = stepOf(name, { ...this.#window, at: this.#window.top } as Window, this.#length);
    if (step === undefined) return false;
    this.#window.top = Math.max(0, Math.min(this.#length - this.#window.height, this.#window.top + step));
    return true;
  }

  lines({ width, height }: Size): readonly string[] {
    const paint = this.#paint();
    const explanation = this.#explanation();
    if (explanation === undefined) return [lineOf(paint, [{ text: ' Asking …', tone: 'dim' }], width)];
    const told = [explanation, ...explanation.children].flatMap(tell);
    const lines = told.flatMap(({ text, tone, indent }) =>
      wrapped(text, Math.max(20, width - indent - 2)).map(
        (line): Span => ({ text: `${' '.repeat(indent + 1)}${line}`, tone }),
      ),
    );
    this.#length = lines.length;
    this.#window.height = height;
    this.#window.top = Math.max(0, Math.min(this.#window.top, lines.length - height));
    return lines.slice(this.#window.top, this.#window.top + height).map((line) => lineOf(paint, [line], width));
  }
}

function tell(explained: Explained): readonly Told[] {
  const { processName, sentence, waits, total, releases, queuedStarts } = explained;
  const retry = retrying(explained);
  return [
    { text: plain(processName), tone: 'title', indent: 0 },
    { text: said(sentence), indent: 0 },
    ...releases.map((release): Told => ({ text: `→ ${said(release.sentence)}`, indent: 2 })),
    ...(retry === undefined ? [] : [{ text: retry, tone: 'accent', indent: 4 } satisfies Told]),
    ...waits.flatMap((wait) => tellWait(explained.processInstanceId, wait)),
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
    { text: said(wait.sentence), indent: 2 },
    ...releases.flatMap(({ sentence, at }, i): readonly Told[] => [
      { text: `→ ${at === undefined ? '' : `${shownTime(at)}${ahead(at)}: `}${said(sentence)}`, indent: 2 },
      ...(i === 0 && command !== undefined ? [{ text: plain(command), tone: 'info', indent: 4 } satisfies Told] : []),
    ]),
    ...nearMisses.map(
      ({ sentence, at }): Told => ({
        text: `! ${at === undefined ? '' : `${shownTime(at)}: `}${said(sentence)}`,
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

/** Times are the reader's own, as everywhere else. */
const said = (text: string): string => plain(text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, shownTime));
