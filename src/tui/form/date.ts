import type { Json } from '../../engine/json.ts';
import type { Key } from '../keys.ts';
import { TextField } from '../text-field.ts';
import type { Control, Look } from './control.ts';

const DAY = 86_400_000;
const WEEKDAYS = 'Mo Tu We Th Fr Sa Su';

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** A date, typed or picked from a calendar. */
export class DateControl implements Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  readonly hint = '←→ day, ↑↓ week, pgup pgdn month, or type YYYY-MM-DD';
  readonly #field: TextField;
  readonly #today: number;

  constructor({
    name,
    label,
    required,
    text = '',
    today = Date.now(),
  }: {
    name: string;
    label: string;
    required: boolean;
    text?: string;
    today?: number;
  }) {
    this.name = name;
    this.label = label;
    this.required = required;
    this.#field = new TextField(text);
    // The day that it is here, at midnight UTC, as all days are counted.
    this.#today = Date.parse(isoDay(today - new Date(today).getTimezoneOffset() * 60_000));
  }

  /** The day that is picked, where what is written begins with one. */
  get #picked(): number | undefined {
    const [day] = /^\d{4}-\d\d-\d\d/.exec(this.#field.text) ?? [];
    const at = day === undefined ? Number.NaN : Date.parse(day);
    return Number.isNaN(at) || isoDay(at) !== day ? undefined : at;
  }

  type(key: Key): boolean {
    const picked = this.#picked;
    const moved = moves(key.name, picked ?? this.#today);
    if (moved === undefined) return this.#field.type(key);
    this.#field.set(isoDay(picked === undefined ? this.#today : moved) + this.#field.text.slice(10));
    return true;
  }

  value(): Json | undefined {
    return this.#field.text.trim() === '' ? undefined : this.#field.text.trim();
  }

  lines({ paint, width, focused }: Look): readonly string[] {
    const [text = ''] = this.#field.view(paint, Math.min(width - 2, 34), 1, focused);
    const line = `${paint('dim', '│')} ${text}`;
    if (!focused) return [line];
    const picked = this.#picked ?? this.#today;
    const month = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(picked);
    const weeks = calendar(picked).map((week) =>
      week.map((day) => (day === undefined ? '  ' : this.#shownDay(paint, day, picked))).join(' '),
    );
    return [line, paint('title', month.padStart(10 + Math.ceil(month.length / 2))), paint('dim', WEEKDAYS), ...weeks];
  }

  #shownDay(paint: Look['paint'], day: number, picked: number): string {
    const text = String(new Date(day).getUTCDate()).padStart(2);
    if (day === this.#picked) return paint('cursor', text);
    return day === this.#today ? paint('accent', text) : day === picked ? paint('title', text) : text;
  }
}

function moves(key: string, from: number): number | undefined {
  const days = { left: -1, right: 1, up: -7, down: 7 }[key];
  if (days !== undefined) return from + days * DAY;
  const months = { pageup: -1, pagedown: 1 }[key];
  return months === undefined ? undefined : monthsAfter(from, months);
}

/** The same day of another month, or its last one where it is shorter. */
function monthsAfter(from: number, months: number): number {
  const date = new Date(from);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(date.getUTCDate(), last));
}

/** The weeks of a day's month, Monday first; undefined for days of other months. */
function calendar(at: number): readonly (readonly (number | undefined)[])[] {
  const date = new Date(at);
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  const blank = (new Date(first).getUTCDay() + 6) % 7;
  return Array.from({ length: Math.ceil((blank + days) / 7) }, (_, week) =>
    Array.from({ length: 7 }, (_, weekday) => {
      const day = week * 7 + weekday - blank;
      return day < 0 || day >= days ? undefined : first + day * DAY;
    }),
  );
}
