import type { JournalStats } from '../ports.ts';
import type { RuntimeStats } from '../runtime/door.ts';

export interface Measured {
  readonly runtime: RuntimeStats;
  readonly journal: JournalStats;
  /** Answered requests by method and status. */
  readonly requests: ReadonlyMap<string, number>;
  readonly openStreams: number;
  readonly version: string;
}

/** Counts answers; there are few methods and statuses, so the map stays small. */
export class RequestCounts {
  readonly counts = new Map<string, number>();

  add(method: string, status: number): void {
    const labels = `method="${method}",status="${status}"`;
    this.counts.set(labels, (this.counts.get(labels) ?? 0) + 1);
  }
}

type Sample = readonly [labels: string, value: number];

/** That it runs: what may be told to one of several organizations, as all other counts are of all of them together. */
export const metricsOfOne = ({ version }: Pick<Measured, 'version'>): string =>
  metric('wfx_info', 'gauge', 'The version that runs.', [[`version="${version}"`, 1]]) +
  gauge('process_uptime_seconds', 'Seconds since the start.', process.uptime());

/** What the daemon counts, in Prometheus' text format. */
export function metricsText({ runtime, journal, requests, openStreams, version }: Measured): string {
  const memory = process.memoryUsage();
  const cpu = process.cpuUsage();
  return [
    metric('wfx_info', 'gauge', 'The version that runs.', [[`version="${version}"`, 1]]),
    gauge('wfx_instances_live', 'Instances that have not ended.', runtime.live),
    gauge('wfx_commands_queued', 'Commands that wait for their turn.', runtime.queued),
    counter('wfx_commands_total', 'Commands that were run.', runtime.commands),
    counter('wfx_node_transitions_total', 'Durable node transitions.', runtime.transitions),
    gauge('wfx_timers', 'Armed timers.', runtime.timers),
    gauge('wfx_subscriptions', 'Open event subscriptions.', runtime.subscriptions),
    gauge('wfx_work', 'Outside work under way or waiting.', runtime.work),
    counter('wfx_journal_frames_total', 'Durable frames over the whole life of the journal.', journal.frames),
    gauge('wfx_journal_bytes', 'Bytes of all journal segments.', journal.bytes),
    gauge('wfx_journal_segments', 'Journal segments.', journal.segments),
    counter('wfx_journal_syncs_total', 'Group commits since the start.', journal.syncs),
    gauge('wfx_journal_pending', 'Appends that are not durable yet.', journal.pending),
    metric('wfx_http_requests_total', 'counter', 'Answered requests.', [...requests]),
    gauge('wfx_http_streams', 'Open event streams.', openStreams),
    gauge('process_resident_memory_bytes', 'Resident memory.', memory.rss),
    gauge('nodejs_heap_used_bytes', 'Used heap.', memory.heapUsed),
    counter('process_cpu_seconds_total', 'CPU time, user and system.', (cpu.user + cpu.system) / 1e6),
    gauge('process_uptime_seconds', 'Seconds since the start.', process.uptime()),
  ].join('');
}

const gauge = (name: string, help: string, value: number): string => metric(name, 'gauge', help, [['', value]]);
const counter = (name: string, help: string, value: number): string => metric(name, 'counter', help, [['', value]]);

function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}
