import { plain } from '../client/index.ts';
import type { HistoryStep, Instance } from '../contract/types.ts';
import { shownDuration } from '../terminal/duration.ts';
import { between, STATUSES, shownTime, shownValue, stateOf } from '../terminal/shown.ts';
import { styleOf } from './shown.ts';
import { printFields, printTable } from './table.ts';
import type { Wfx } from './wfx.ts';

/**
 * A run for a person (its state, error, nodes and variables), or as the API gives it. With a step it is as it was then, and
 * so are the lengths of time.
 */
export function showInstance(wfx: Wfx, instance: Instance, step?: HistoryStep): void {
  const { io } = wfx;
  if (wfx.json) {
    io.json(instance);
    return;
  }
  io.print(io.paint('bold', plain(instance.processName)));
  printFields(io, fieldsOf(instance, step));
  if (instance.nodes.length > 0) {
    io.print('');
    showNodes(wfx, instance, step?.timestamp);
  }
  if (Object.keys(instance.data).length > 0) {
    io.print('');
    showVariables(wfx, instance.data);
  }
}

function fieldsOf(
  instance: Instance,
  step: HistoryStep | undefined,
): readonly (readonly [string, string | undefined])[] {
  const { error } = instance;
  return [
    ['instance', instance.processInstanceId],
    ['as of step', step && `${step.step}, ${shownTime(step.timestamp)}: ${step.nodeName} ${step.message}`],
    ['state', stateOf(instance)],
    ['error', error === undefined ? undefined : `${error.code} at ${error.nodeId}: ${error.message}`],
    ['flow', `${instance.processId}, version ${instance.processVersion}`],
    ['environment', instance.environment],
    ['key', instance.correlationKey],
    ['started', `${shownTime(instance.startTime)} by ${startedBy(instance.trigger)}`],
    ['ended', instance.endTime === undefined ? undefined : shownTime(instance.endTime)],
    [
      instance.stateCd === 0 ? 'runs for' : 'took',
      shownDuration(between(instance.startTime, instance.endTime ?? step?.timestamp)),
    ],
    ['parent', instance.parentInstanceId],
    ['retry of', instance.retryOf],
    ['children', instance.children.length === 0 ? undefined : instance.children.join(', ')],
  ];
}

/** What started a run, with what leads back to it. */
function startedBy(trigger: Instance['trigger']): string {
  const told = (name: string): string => shownValue(trigger[name] ?? '?');
  switch (trigger['type']) {
    case 'webhook':
      return trigger['deliveryId'] === undefined
        ? 'a webhook trigger, by hand'
        : `webhook ${told('webhookName')}, delivery ${told('deliveryId')}`;
    case 'schedule':
      return trigger['scheduledTime'] === undefined
        ? 'a schedule trigger, by hand'
        : `schedule ${told('cron')} ${told('timezone')}, due ${shownTime(told('scheduledTime'))}`;
    case 'email':
      return trigger['messageId'] === undefined
        ? 'an email trigger, by hand'
        : `email connection ${told('connectionName')}, message ${trigger['messageId'] === null ? `with UID ${told('uid')}` : told('messageId')}`;
    default:
      return shownValue(trigger['type'] ?? 'api');
  }
}

function showNodes({ io }: Wfx, { nodes }: Instance, moment: string | undefined): void {
  printTable(
    io,
    nodes,
    [
      { title: 'NODE', text: ({ nodeId }) => nodeId },
      { title: 'TYPE', text: ({ nodeType }) => nodeType },
      {
        title: 'STATUS',
        text: ({ statusCd }) => STATUSES[statusCd],
        style: ({ statusCd }) => styleOf(STATUSES[statusCd]),
      },
      { title: 'STARTED', text: ({ startTime }) => shownTime(startTime) },
      { title: 'TOOK', text: (node) => shownDuration(between(node.startTime, node.endTime ?? moment)) },
      { title: 'TRIES', text: ({ attempt }) => String(attempt) },
      { title: 'NAME', text: ({ nodeName }) => nodeName },
    ],
    '',
  );
}

/** `name: value` lines, one for each variable. */
export function showVariables({ io }: Wfx, data: Instance['data']): void {
  for (const [name, value] of Object.entries(data))
    io.print(`${io.paint('cyan', plain(name))}: ${plain(shownValue(value), 10_000)}`);
}
