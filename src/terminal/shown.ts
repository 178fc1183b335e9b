import type { InstanceSummary } from '../contract/types.ts';

export const STATES = ['Running', 'Completed', 'Failed', 'Cancelled'] as const;
export const STATUSES = ['Running', 'Waiting', 'Completed', 'Failed', 'Cancelled', 'TimedOut'] as const;

export const stateOf = ({ stateCd }: Pick<InstanceSummary, 'stateCd'>): string => STATES[stateCd];

/** A moment in local time, to the second: `2026-01-31 09:05:00`. */
export function shownTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clockTime(iso)}`;
}

/** The time of day alone, local. */
export function clockTime(iso: string): string {
  const at = new Date(iso);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
}

/** How long from one moment to another, in ms. */
export const between = (start: string, end: string | undefined): number =>
  (end === undefined ? Date.now() : Date.parse(end)) - Date.parse(start);

/** A variable's value on one line: text as it is, anything else as JSON. */
export const shownValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
