import { type Client, plain, UnreachableError } from '../client/index.ts';
import { commandWords, completions, runCommand } from './commands.ts';
import { allowed, type Binding, bindingFor, type Key, unambiguous } from './keys.ts';
import { Live } from './live.ts';
import type { Panel, Screen } from './panel.ts';
import { Confirm } from './parts/confirm.tsx';
import { Help } from './parts/help.tsx';
import { Prompt } from './prompt.ts';
import { SCREENS } from './screens/index.ts';
import { sentenceOf } from './sentence.ts';
import type { Settings } from './settings.ts';
import type { Tone } from './theme.ts';

export interface AppOptions {
  readonly client: Client;
  readonly settings: Settings;
  readonly readOnly: boolean;
  /** Where the daemon is, as the header says it. */
  readonly place: string;
  readonly exit: () => void;
  /** Gives the terminal back until the user comes back. */
  readonly suspend?: () => void;
}
interface Message {
  readonly tone: Tone;
  readonly text: string;
}

/** Redraws are gathered for so long: a burst of events is drawn once. */
const GATHER_MS = 40;

/** What the terminal shows and what keys do to it: a stack of screens, a dialog above them, a prompt and a message below. */
export class App {
  readonly client: Client;
  readonly settings: Settings;
  readonly readOnly: boolean;
  readonly place: string;
  readonly live: Live;
  readonly #exit: () => void;
  readonly #suspend: () => void;
  readonly #stack: Screen[] = [];
  #dialog: Panel | undefined;
  prompt: Prompt | undefined;
  message: Message | undefined;
  readonly #watchers = new Set<() => void>();
  #gathering: NodeJS.Timeout | undefined;
  #version = 0;

  constructor({ client, settings, readOnly, place, exit, suspend = () => undefined }: AppOptions) {
    this.client = client;
    this.settings = settings;
    this.readOnly = readOnly;
    this.place = place;
    this.#exit = exit;
    this.#suspend = suspend;
    this.live = new Live(client, {
      changed: () => this.changed(),
      reconnected: () => this.#top.refresh?.(),
    });
  }

  start(screen: string): void {
    const make = Object.hasOwn(SCREENS, screen) ? SCREENS[screen] : undefined;
    if (make === undefined)
      this.say(`There is no screen “${screen}”: it is one of ${Object.keys(SCREENS).join(', ')}.`, 'bad');
    this.#push((make ?? (SCREENS['runs'] as (app: App) => Screen))(this));
    this.live.start();
  }

  stop(): void {
    for (const screen of this.#stack) screen.close?.();
    this.live.stop();
    clearTimeout(this.#gathering);
  }

  quit(): void {
    this.#exit();
  }

  get #top(): Screen {
    return this.#stack.at(-1) as Screen;
  }
  get screen(): Screen {
    return this.#top;
  }
  /** What has the keys. */
  get panel(): Panel {
    return this.#dialog ?? this.#top;
  }
  get trail(): readonly string[] {
    return [...this.#stack, ...(this.#dialog === undefined ? [] : [this.#dialog])].map(({ title }) => title);
  }

  /** For React: called at every change, and what changes with it. */
  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };
  readonly version = (): number => this.#version;

  /** Something that is shown may be different. */
  changed(): void {
    this.#gathering ??= setTimeout(() => this.#draw(), GATHER_MS);
  }

  #draw(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#version += 1;
    for (const watcher of [...this.#watchers]) watcher();
  }

  /** A key is answered at once. */
  key(key: Key): void {
    this.#take(key);
    this.#draw();
  }

  #take(key: Key): void {
    if (key.name === 'ctrl+c') return this.quit();
    if (key.name === 'ctrl+z') return this.#suspend();
    if (this.prompt !== undefined) return this.prompt.key(key);
    this.message = undefined;
    if (this.panel.type?.(key) === true) return;
    bindingFor(this.bindings(), key)?.run();
  }

  /** All that keys do now: of the panel that has them, then everywhere. */
  bindings(): readonly Binding[] {
    return unambiguous([...this.panelBindings(), ...this.#globalBindings()]);
  }

  panelBindings(): readonly Binding[] {
    return unambiguous(allowed(this.panel.bindings(), this.readOnly));
  }

  /** What keys do on every screen. */
  globalBindings(): readonly Binding[] {
    return this.bindings().slice(this.panelBindings().length);
  }

  #globalBindings(): readonly Binding[] {
    if (this.#dialog !== undefined) return [];
    return [
      ...this.#filterBinding(),
      { keys: [':'], does: 'go to', run: () => this.#askCommand() },
      { keys: ['?'], does: 'help', run: () => this.show(new Help(this)) },
      ...(this.#stack.length > 1 ? [{ keys: ['escape', 'backspace'], does: 'back', run: () => this.back() }] : []),
      { keys: ['q'], does: this.#stack.length > 1 ? 'back' : 'quit', quiet: true, run: () => this.#leave() },
      { keys: ['ctrl+r'], does: 'refresh', quiet: true, run: () => this.#top.refresh?.() },
      { keys: ['ctrl+z'], does: 'suspend', quiet: true, run: () => this.#suspend() },
      { keys: ['ctrl+c'], does: 'quit', quiet: true, run: () => this.quit() },
    ];
  }

  #filterBinding(): readonly Binding[] {
    const filter = this.#top.filter;
    if (filter === undefined) return [];
    const ask: Binding = { keys: ['/'], does: 'filter', run: () => this.#askFilter(filter) };
    const clear: Binding = { keys: ['escape'], does: 'clear filter', run: () => filter.set('') };
    return filter.text === '' ? [ask] : [ask, clear];
  }

  #leave(): void {
    if (this.#stack.length > 1) this.back();
    else this.quit();
  }

  /** Opens a screen above the one that is shown. */
  open(screen: Screen): void {
    this.#top.close?.();
    this.#push(screen);
  }

  #push(screen: Screen): void {
    this.#stack.push(screen);
    screen.open?.();
    this.changed();
  }

  back(): void {
    if (this.#stack.length < 2) return;
    this.#stack.pop()?.close?.();
    this.#top.open?.();
    this.changed();
  }

  /** Goes to one of the main screens; the way there is forgotten. */
  go(name: string): void {
    const make = Object.hasOwn(SCREENS, name) ? SCREENS[name] : undefined;
    if (make === undefined) return;
    for (const screen of this.#stack.splice(0)) screen.close?.();
    this.#push(make(this));
  }

  /** Shows a dialog above the screen, until it is dismissed. */
  show(dialog: Panel): void {
    this.#dialog?.close?.();
    this.#dialog = dialog;
    dialog.open?.();
    this.changed();
  }

  dismiss(): void {
    this.#dialog?.close?.();
    this.#dialog = undefined;
    this.changed();
  }

  /** Asks before something that can't be taken back. Where it is left, what asked is shown again. */
  confirm(question: string, does: string, run: () => void): void {
    const asking = this.#dialog;
    const leave = (): void => (asking === undefined ? this.dismiss() : this.show(asking));
    this.show(new Confirm(this, { question, does, run, leave }));
  }

  say(text: string, tone: Tone = 'ok'): void {
    this.message = { tone, text: plain(text, 1000) };
    this.changed();
  }

  /** An error as a sentence. Lost connections are the header's to tell, once it is live. */
  readonly fail = (error: unknown): void => {
    if (error instanceof UnreachableError && this.live.state !== 'live') return;
    this.say(sentenceOf(error), 'bad');
  };

  /** Does something with the daemon and says how it went. */
  async act(does: () => Promise<string | undefined>): Promise<void> {
    try {
      const said = await does();
      if (said !== undefined) this.say(said);
    } catch (error) {
      this.say(sentenceOf(error), 'bad');
    }
  }

  /** Does the same to many, one after the other, and says how many it worked for and why it failed for others. */
  async each<T>(items: readonly T[], done: string, act: (item: T) => Promise<unknown>): Promise<void> {
    const errors: string[] = [];
    for (const [i, item] of items.entries()) {
      if (items.length > 20 && i % 20 === 0) this.say(`${i} of ${items.length} …`, 'info');
      try {
        await act(item);
      } catch (error) {
        errors.push(sentenceOf(error));
      }
    }
    const went = items.length - errors.length;
    const [first] = errors;
    if (first === undefined) this.say(`${done} ${items.length === 1 ? 'it' : items.length}.`);
    else this.say(`${items.length === 1 ? '' : `${done} ${went} of ${items.length}: `}${first}`, 'bad');
  }

  #askFilter(filter: NonNullable<Screen['filter']>): void {
    this.prompt = new Prompt({
      sign: '/',
      hint: filter.hint,
      text: filter.text,
      words: () => [],
      done: (text) => {
        this.prompt = undefined;
        if (text !== undefined) filter.set(text.trim());
      },
    });
  }

  #askCommand(): void {
    this.prompt = new Prompt({
      sign: ':',
      hint: commandWords().join(' '),
      text: '',
      words: completions,
      done: (text) => {
        this.prompt = undefined;
        if (text !== undefined) runCommand(this, text.trim());
      },
    });
  }
}
