import { readFileSync } from 'node:fs';
import type { Environment, FlowDefinition, Instance } from '../contract/types.ts';
import { type Json, type JsonObject, withPath } from '../engine/json.ts';
import { typedValue } from '../terminal/typed.ts';
import type { App } from './app.ts';
import { ChoiceControl } from './form/choice.ts';
import type { Control } from './form/control.ts';
import { PathControl } from './form/file.ts';
import { FormPanel, type Values } from './form/form-panel.tsx';
import { TextControl, variableControl } from './form/text.ts';

/** Variables get names that no other question of the form has. */
const VARIABLE = 'data.';
const MOST_VARIABLES = 60;
const BOTH = 'both';

const options = (...texts: readonly string[]) => texts.map((text) => ({ value: text, label: text }));

/** One question for each variable, and one for those that are not there yet. */
function variableControls(variables: JsonObject): readonly Control[] {
  const known = Object.entries(variables).slice(0, MOST_VARIABLES);
  return [
    ...known.map(([name, value]) => variableControl(`${VARIABLE}${name}`, value as Json, name)),
    new TextControl({
      name: 'more',
      label: known.length === 0 ? 'Variables' : 'More variables',
      lines: true,
      hint: 'name=value on each line; dots reach inside',
    }),
  ];
}

/** What was changed and added. Throws what is wrong with a line. */
function givenVariables(values: Values): JsonObject {
  let data: JsonObject = {};
  for (const [name, value] of Object.entries(values))
    if (name.startsWith(VARIABLE)) data = { ...data, [name.slice(VARIABLE.length)]: value };
  for (const line of String(values['more'] ?? '').split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    const path = line.slice(0, Math.max(0, at)).trim().split('.');
    if (at < 1 || path.some((name) => name === '')) throw new Error(`“${line}” is no variable: write name=value.`);
    data = withPath(data, path, typedValue(line.slice(at + 1).trim()));
  }
  return data;
}

/** Asks for what a run starts with, and starts it. */
export function startForm(
  app: App,
  flow: FlowDefinition,
  variables: JsonObject,
  opened: (id: string) => void,
): FormPanel {
  const environments = (['PRODUCTION', 'DEVELOPMENT'] as const).filter((name) => flow.activeVersion[name] !== null);
  return new FormPanel(app, {
    title: `Start ${flow.name}`,
    lead: `Version ${environments.map((name) => `${flow.activeVersion[name]} in ${name}`).join(', ') || 'none is active'}`,
    does: 'start',
    controls: [
      ...variableControls(variables),
      new TextControl({ name: 'correlationKey', label: 'Correlation key', hint: 'your own reference, or nothing' }),
      new ChoiceControl({
        name: 'environment',
        label: 'Environment',
        required: true,
        options: options(...(environments.length === 0 ? ['PRODUCTION'] : environments)),
        chosen: [environments[0] ?? 'PRODUCTION'],
      }),
    ],
    submit: async (values) => {
      const key = String(values['correlationKey'] ?? '');
      const started = await start(app, flow, {
        environment: values['environment'] as Environment,
        data: givenVariables(values),
        ...(key !== '' && { correlationKey: key }),
      });
      opened(started);
      return undefined;
    },
  });
}

interface Start {
  readonly environment: Environment;
  readonly data: JsonObject;
  readonly correlationKey?: string;
}

/** Keys that belong to an organization start by one endpoint, system-level keys by another. */
async function start(app: App, { processId }: FlowDefinition, { environment, ...body }: Start): Promise<string> {
  const { organizationId } = await app.client.call('whoami');
  const name = organizationId === null ? 'startProcess' : 'execProcess';
  const { processInstanceId } = await app.client.call(name, { query: { environment }, body: { processId, ...body } });
  return processInstanceId;
}

/** Asks from which node a run that is over goes on, and with which variables changed. */
export function retryForm(app: App, run: Instance, from: string | undefined, opened: (id: string) => void): FormPanel {
  const nodes = [...new Map(run.nodes.map(({ nodeId, nodeName }) => [nodeId, nodeName]))];
  const chosen = from ?? run.error?.nodeId ?? nodes.at(-1)?.[0] ?? '';
  return new FormPanel(app, {
    title: `Retry ${run.processName}`,
    lead: 'Goes on as a new run, with the variables as they are here.',
    does: 'retry',
    controls: [
      new ChoiceControl({
        name: 'from',
        label: 'From node',
        required: true,
        options: nodes.map(([value, name]) => ({ value, label: name === value ? value : `${name} (${value})` })),
        chosen: [chosen],
      }),
      ...variableControls(run.data),
    ],
    submit: async (values) => {
      const data = givenVariables(values);
      const body = { from: String(values['from'] ?? chosen), ...(Object.keys(data).length > 0 && { data }) };
      const { processInstanceId } = await app.client.call('retryInstance', {
        params: { processInstanceId: run.processInstanceId },
        body,
      });
      opened(processInstanceId);
      return 'Goes on as a new run.';
    },
  });
}

const environmentControl = (): Control =>
  new ChoiceControl({
    name: 'environment',
    label: 'Active in',
    required: true,
    options: options(BOTH, 'PRODUCTION', 'DEVELOPMENT'),
    chosen: [BOTH],
  });

const environmentOf = ({ environment }: Values): { environment?: Environment } =>
  environment === undefined || environment === BOTH ? {} : { environment: environment as Environment };

/** Asks for a flow file of this machine, checks it and publishes it. */
export function publishForm(app: App, published: () => void): FormPanel {
  const path = new PathControl({ name: 'path', label: 'Flow file' });
  return new FormPanel(app, {
    title: 'Publish a flow',
    lead: 'It becomes a new version, unless nothing has changed.',
    does: 'publish',
    controls: [path, environmentControl()],
    submit: async (values) => {
      if (values['path'] === undefined) throw new Error('Name a flow file.');
      const body = readFileSync(String(values['path']), 'utf8');
      const { valid, problems } = await app.client.call('validateFlow', { body });
      const [problem] = problems.filter(({ severity }) => severity === 'error');
      if (!valid && problem !== undefined) {
        const others = problems.length > 1 ? ` (and ${problems.length - 1} more: wfx validate shows all)` : '';
        throw new Error(`Line ${problem.line}: ${problem.message}${others}`);
      }
      const { version, activeIn, unchanged } = await app.client.call('publishFlow', {
        query: environmentOf(values),
        body,
      });
      published();
      return unchanged
        ? `Nothing has changed: it is version ${version}.`
        : `Published as version ${version}${activeIn.length === 0 ? '' : `, active in ${activeIn.join(' and ')}`}.`;
    },
  });
}

/** Asks where a version becomes the active one. */
export function activateForm(app: App, flow: FlowDefinition, version: string, activated: () => void): FormPanel {
  return new FormPanel(app, {
    title: `Activate version ${version} of ${flow.name}`,
    lead: 'New runs take it; running ones stay on theirs.',
    does: 'activate',
    controls: [environmentControl()],
    submit: async (values) => {
      await app.client.call('activateFlow', {
        params: { processId: flow.processId },
        body: { version, ...environmentOf(values) },
      });
      activated();
      return `Version ${version} is active.`;
    },
  });
}
