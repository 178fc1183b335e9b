import type { FlowDefinition, FlowSummary } from '../../contract/types.ts';
import { shownTime } from '../../terminal/shown.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { brief } from '../times.ts';
import { FlowScreen, openStart } from './flow.tsx';
import { RunsScreen } from './runs.tsx';

interface ScheduleRow {
  readonly id: string;
  readonly processId: string;
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly environment: string;
  /** 0 where it never fires. */
  readonly next: number;
}

/** Schedule triggers of all flows, the next one first. */
export class SchedulesScreen extends ListScreen<ScheduleRow> {
  readonly name = 'schedules';
  readonly title = 'schedules';
  protected readonly empty = 'No flow has a schedule trigger.';
  protected readonly columns: readonly Column<ScheduleRow>[] = [
    {
      title: 'NEXT',
      width: 19,
      text: ({ next }) => (next === 0 ? 'never' : shownTime(new Date(next).toISOString())),
      tone: ({ next }) => (next === 0 ? 'warn' : undefined),
    },
    {
      title: 'IN',
      width: 7,
      align: 'right',
      text: ({ next }) => (next === 0 ? '-' : brief(Math.max(0, next - Date.now()))),
    },
    { title: 'FLOW', width: 0, text: ({ name }) => name },
    { title: 'CRON', width: 16, text: ({ cron }) => cron, tone: () => 'info' },
    { title: 'ZONE', width: 16, from: 90, text: ({ timezone }) => timezone, tone: () => 'dim' },
    { title: 'ENV', width: 11, from: 76, text: ({ environment }) => environment, tone: () => 'dim' },
  ];

  protected async page(cursor: string | undefined): Promise<Page<ScheduleRow>> {
    const { items, nextCursor } = await this.app.client.call('listFlows', {
      query: { limit: 200, ...(cursor !== undefined && { cursor }) },
    });
    const scheduled = items.filter(({ triggers }) => triggers.some(({ type }) => type === 'schedule'));
    const flows = await Promise.all(scheduled.map((flow) => this.#active(flow)));
    return { items: flows.flatMap(rowsOf).sort((a, b) => (a.next || Infinity) - (b.next || Infinity)), nextCursor };
  }

  /** The version that fires, where one does. */
  async #active({ processId, activeVersion }: FlowSummary): Promise<FlowDefinition> {
    const version = activeVersion.PRODUCTION ?? activeVersion.DEVELOPMENT;
    const query = version === null ? {} : { versionNumber: version };
    return this.app.client.call('getFlow', { params: { processId }, query });
  }

  protected idOf({ id }: ScheduleRow): string {
    return id;
  }
  protected words(row: ScheduleRow): string {
    return `${row.name} ${row.cron} ${row.timezone} ${row.environment}`;
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['enter'],
        does: 'open flow',
        run: () => this.current && this.app.open(new FlowScreen(this.app, this.current)),
      },
      { keys: ['r'], does: 'runs', run: () => this.current && this.app.open(new RunsScreen(this.app, this.current)) },
      {
        keys: ['s'],
        does: 'start now',
        changes: true,
        run: () => this.current && openStart(this.app, this.current.processId),
      },
    ];
  }
}

const rowsOf = ({ processId, name, schedules }: FlowDefinition): readonly ScheduleRow[] =>
  schedules.map(({ cron, timezone, environment, next }, i) => ({
    id: `${processId} ${i}`,
    processId,
    name,
    cron,
    timezone,
    environment: environment ?? 'nowhere',
    next: environment === null || next[0] === undefined ? 0 : Date.parse(next[0]),
  }));
