import type { FlowSummary } from '../../contract/types.ts';
import { publishForm } from '../actions.ts';
import type { Binding } from '../keys.ts';
import { ListScreen } from '../parts/list.tsx';
import type { Column } from '../parts/table.tsx';
import type { Page } from '../rows.ts';
import { moment } from '../times.ts';
import { FlowScreen, openStart } from './flow.tsx';
import { RunsScreen } from './runs.tsx';

/** Published flows, by name. */
export class FlowsScreen extends ListScreen<FlowSummary> {
  readonly name = 'flows';
  readonly title = 'flows';
  protected readonly empty = 'No flows yet. P publishes one.';
  protected readonly columns: readonly Column<FlowSummary>[] = [
    { title: 'NAME', width: 0, text: ({ name }) => name },
    { title: 'PROD', width: 4, align: 'right', text: ({ activeVersion }) => activeVersion.PRODUCTION ?? '-' },
    { title: 'DEV', width: 4, align: 'right', text: ({ activeVersion }) => activeVersion.DEVELOPMENT ?? '-' },
    { title: 'TRIGGERS', width: 18, from: 60, text: triggersOf, tone: () => 'info' },
    { title: 'UPDATED', width: 11, text: ({ updatedAt }) => moment(Date.parse(updatedAt)) },
    { title: 'DESCRIPTION', width: 0, from: 120, text: ({ description }) => description ?? '', tone: () => 'dim' },
    { title: 'ID', width: 36, from: 150, text: ({ processId }) => processId, tone: () => 'dim' },
  ];

  protected page(cursor: string | undefined): Promise<Page<FlowSummary>> {
    return this.app.client.call('listFlows', { query: { limit: 200, ...(cursor !== undefined && { cursor }) } });
  }
  protected idOf({ processId }: FlowSummary): string {
    return processId;
  }
  protected words(flow: FlowSummary): string {
    return `${flow.name} ${flow.processId} ${flow.description ?? ''} ${triggersOf(flow)}`;
  }

  protected actions(): readonly Binding[] {
    return [
      {
        keys: ['enter'],
        does: 'open',
        run: () => this.current && this.app.open(new FlowScreen(this.app, this.current)),
      },
      {
        keys: ['s'],
        does: 'start',
        changes: true,
        run: () => this.current && openStart(this.app, this.current.processId),
      },
      { keys: ['r'], does: 'runs', run: () => this.current && this.app.open(new RunsScreen(this.app, this.current)) },
      { keys: ['u'], does: 'unpublish', changes: true, quiet: true, run: () => this.#unpublish() },
    ];
  }

  protected override others(): readonly Binding[] {
    const publish = () => this.app.show(publishForm(this.app, () => this.refresh()));
    return [{ keys: ['P'], does: 'publish', changes: true, run: publish }];
  }

  #unpublish(): void {
    const flows = this.chosen;
    const [first] = flows;
    if (first === undefined) return;
    const what = flows.length === 1 ? first.name : `${flows.length} flows`;
    this.app.confirm(
      `Withdraw ${what}? Nothing starts ${flows.length === 1 ? 'it' : 'them'} any more; running instances go on.`,
      'unpublish',
      () => {
        this.unmark();
        void this.app
          .each(flows, 'Withdrew', ({ processId }) => this.app.client.call('unpublishFlow', { params: { processId } }))
          .then(() => this.refresh());
      },
    );
  }
}

export const triggersOf = ({ triggers }: FlowSummary): string =>
  [...new Set(triggers.map(({ type }) => String(type)))].join(' ');
