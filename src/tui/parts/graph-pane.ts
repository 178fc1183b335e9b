import { plain } from '../../client/index.ts';
import type { Flow } from '../../engine/flow.ts';
import type { GraphLine } from '../../terminal/graph.ts';
import { widthOf } from '../../terminal/width.ts';
import type { Binding, Key } from '../keys.ts';
import { cell, lineOf, type Span } from '../line.ts';
import type { Size } from '../panel.ts';
import type { Paint, Tone } from '../theme.ts';
import { statusSign, statusTone } from '../tones.ts';
import { stepOf, Window } from '../window.ts';
import type { Pane } from './pane.ts';

/** How a node of a graph stands: its status, how often it ran, and whether it is the one that is looked at. */
export interface NodeState {
  readonly statusCd: number;
  readonly times: number;
}

const TYPE_WIDTH = 22;
const TYPE_FROM = 64;

/** A flow drawn from top to bottom, with the state of each node where it is that of a run. */
export class GraphPane implements Pane {
  readonly name = 'graph';
  readonly #paint: () => Paint;
  readonly #states: () => ReadonlyMap<string, NodeState> | undefined;
  readonly #window = new Window();
  #lines: readonly GraphLine[] = [];
  /** A node that is followed while nobody moves in the graph. */
  readonly #at: () => string | undefined;
  #follows = true;

  constructor(
    paint: () => Paint,
    states: () => ReadonlyMap<string, NodeState> | undefined,
    at: () => string | undefined = () => undefined,
  ) {
    this.#paint = paint;
    this.#states = states;
    this.#at = at;
  }

  /** Draws a flow file. What compiles and draws is loaded when it is needed. */
  async draw(source: string): Promise<void> {
    const [{ compile }, { graphOf }, { drawGraph }] = await Promise.all([
      import('../../engine/parse.ts'),
      import('../../engine/graph.ts'),
      import('../../terminal/graph.ts'),
    ]);
    const flow: Flow | undefined = compile(source).flow;
    this.#lines = flow === undefined ? [] : drawGraph(graphOf(flow));
  }

  get chosen(): string | undefined {
    const line = this.#lines[this.#window.at];
    return line?.kind === 'node' ? line.node.id : undefined;
  }

  bindings(): readonly Binding[] {
    return [];
  }

  type({ name }: Key): boolean {
    const step = stepOf(name, this.#window, this.#lines.length);
    if (step === undefined) return false;
    this.#follows = false;
    this.#window.move(step, this.#lines.length);
    return true;
  }

  /** Follows the node that is looked at again. */
  follow(): void {
    this.#follows = true;
  }

  lines({ width, height }: Size, focused: boolean): readonly string[] {
    const paint = this.#paint();
    if (this.#lines.length === 0) return [lineOf(paint, [{ text: ' Drawing …', tone: 'dim' }], width)];
    const at = this.#at();
    if (this.#follows && at !== undefined)
      this.#window.at = this.#lines.findIndex((line) => line.kind === 'node' && line.node.id === at);
    this.#window.fit(this.#lines.length, height);
    const { top } = this.#window;
    return this.#lines.slice(top, top + height).map((line, i) => {
      const chosen = focused && top + i === this.#window.at;
      return lineOf(paint, this.#spans(line, width), width, chosen ? 'selected' : undefined);
    });
  }

  #spans(line: GraphLine, width: number): readonly Span[] {
    if (line.kind === 'way') return [{ text: ` ${line.rails} ${plain(line.label, 300)}`, tone: 'dim' }];
    const { node, before, after } = line;
    const states = this.#states();
    const state = states?.get(node.id);
    const tone: Tone | undefined =
      state === undefined ? (states === undefined ? undefined : 'dim') : statusTone(state.statusCd);
    const types = width < TYPE_FROM ? 0 : TYPE_WIDTH;
    const room = Math.max(8, width - 2 - widthOf(before) - widthOf(after) - types);
    const times = state !== undefined && state.times > 1 ? ` ×${state.times}` : '';
    return [
      { text: ` ${before}`, tone: 'dim' },
      { text: state === undefined ? '○' : statusSign(state.statusCd), tone },
      { text: after, tone: 'dim' },
      { text: cell(`${node.name}${times}`, room), tone },
      { text: types === 0 ? '' : cell(node.type, types), tone: 'dim' },
    ];
  }
}
