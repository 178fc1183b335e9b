import { usage } from './exit.ts';

const SIMPLE = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/i;
const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;

/** Milliseconds of `90s`, `1h30m`, `PT10M`, or plain seconds: `90`. */
export function durationMs(text: string, option: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = SIMPLE.exec(text) ?? ISO.exec(text);
  if (parts === null || parts.slice(1).every((part) => part === undefined))
    throw usage(`${option} takes a duration, not “${text}”.`, 'for example: 90s, 10m, 1h30m or PT10M');
  const [days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0));
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}

/** The same as an ISO 8601 duration, which is what the API takes. */
export const isoDuration = (text: string, option: string): string => `PT${durationMs(text, option) / 1000}S`;

/** For a person: `0.3 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function shownDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}
