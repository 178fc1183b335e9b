import type { Instance } from '../../contract/types.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, lineOf, type Span } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Pane } from '../parts/pane.ts';
import type { Paint } from '../theme.ts';
import { brief } from '../times.ts';
import { statusSign, statusTone } from '../tones.ts';
import { stepOf, Window } from '../window.ts';

type NodeInstance = Instance['nodes'][number];

const TYPE_FROM = 70;
const BAR_FROM = 56;
const nameWidth = (width: number): number => Math.max(12, Math.min(34, Math.floor(width * 0.35)));
/** The longest type has 22 letters. */
const typeWidth = (width: number): number => (width < TYPE_FROM ? 0 : width < 95 ? 14 : 22);

/** The nodes of a run in the order they began, with how long each took and when, as bars. */
export class Timeline implements Pane {
  readonly name = 'timeline';
  readonly #paint: () => Paint;
  readonly #nodes: () => readonly NodeInstance[];
  /** The moment that is looked at; undefined: now. */
  readonly #moment: () => string | undefined;
  readonly #window = new Window();
  /** While nobody has moved in it, it shows what comes last. */
  #follows = true;

  constructor(
    paint: () => Paint,
    nodes: () => readonly NodeInstance[],
    moment: () => string | undefined = () => undefined,
  ) {
    this.#paint = paint;
    this.#nodes = nodes;
    this.#moment = moment;
  }

  get chosen(): NodeInstance | undefined {
    return this.#nodes()[this.#window.at];
  }

  /** Shows what comes last again. */
  follow(): void {
    this.#follows = true;
  }

  bindings(): readonly Binding[] {
    return [];
  }

  type({ name }: Key): boolean {
    const { length } = this.#nodes();
    const step = stepOf(name, this.#window, length);
    if (step === undefined) return false;
    this.#window.move(step, length);
    this.#follows = this.#window.at === length - 1;
    return true;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const nodes = this.#nodes();
    if (this.#follows) this.#window.at = nodes.length - 1;
    this.#window.fit(nodes.length, height);
    const { top } = this.#window;
    const start = Date.parse(nodes[0]?.startTime ?? new Date().toISOString());
    const now = Date.parse(this.#moment() ?? new Date().toISOString());
    const end = Math.max(...nodes.slice(-200).map((node) => endOf(node, now)), start + 1);
    return nodes.slice(top, top + height).map((node, i) => {
      const chosen = focused && top + i === this.#window.at;
      const spans = [...this.#columns(node, now, width), ...bar(node, { start, end, now }, width)];
      return lineOf(this.#paint(), spans, width, chosen ? 'selected' : undefined);
    });
  }

  #columns(node: NodeInstance, now: number, width: number): readonly Span[] {
    const took = brief(endOf(node, now) - Date.parse(node.startTime));
    return [
      { text: ` ${statusSign(node.statusCd)} `, tone: statusTone(node.statusCd) },
      { text: cell(node.nodeName, nameWidth(width)) },
      { text: ` ${cell(node.nodeType, typeWidth(width))} `, tone: 'dim' },
      { text: cell(took, 7, 'right') },
      { text: cell(node.attempt > 1 ? ` ×${node.attempt}` : '', 5), tone: 'warn' },
    ];
  }
}

const endOf = ({ endTime }: NodeInstance, now: number): number => (endTime === undefined ? now : Date.parse(endTime));

interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly now: number;
}

/** When a node ran, between the beginning of the run and its end. */
function bar(node: NodeInstance, { start, end, now }: Stretch, width: number): readonly Span[] {
  const used = 3 + nameWidth(width) + typeWidth(width) + 2 + 12;
  const room = width - used - 1;
  if (width < BAR_FROM || room < 6) return [];
  const place = (at: number): number => Math.floor(((at - start) / (end - start)) * room);
  const from = Math.max(0, Math.min(room - 1, place(Date.parse(node.startTime))));
  const to = Math.max(from + 1, Math.min(room, place(endOf(node, now))));
  const fill = node.endTime === undefined ? '▒' : '━';
  return [{ text: ' '.repeat(from) }, { text: fill.repeat(to - from), tone: statusTone(node.statusCd) }];
}
