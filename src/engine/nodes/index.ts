import type { Node, NodeType } from '../flow.ts';
import type { Behaviour } from '../node.ts';
import { aiTask } from './aiTask.ts';
import { boundaryEvent } from './boundaryEvent.ts';
import { callAgent } from './callAgent.ts';
import { callProcess } from './callProcess.ts';
import { domainTask } from './domainTask.ts';
import { endEvent } from './endEvent.ts';
import { exclusiveGateway } from './exclusiveGateway.ts';
import { ifElse } from './ifElse.ts';
import { inclusiveGateway } from './inclusiveGateway.ts';
import { inputNode } from './inputNode.ts';
import { intermediateCatchEvent } from './intermediateCatchEvent.ts';
import { intermediateThrowEvent } from './intermediateThrowEvent.ts';
import type { KeysOf } from './keys.ts';
import { loopNode } from './loopNode.ts';
import { memoryAction } from './memoryAction.ts';
import { outputNode } from './outputNode.ts';
import { parallelGateway } from './parallelGateway.ts';
import { scriptTask } from './scriptTask.ts';
import { serviceTask } from './serviceTask.ts';
import { setVariable } from './setVariable.ts';
import { startEvent } from './startEvent.ts';
import { subProcess } from './subProcess.ts';
import { task } from './task.ts';
import { userTask } from './userTask.ts';
import { voiceTask } from './voiceTask.ts';

/** One line registers a node type; forgetting one does not compile. */
const BEHAVIOURS = {
  startEvent,
  endEvent,
  serviceTask,
  userTask,
  task,
  scriptTask,
  exclusiveGateway,
  inclusiveGateway,
  parallelGateway,
  boundaryEvent,
  intermediateThrowEvent,
  intermediateCatchEvent,
  subProcess,
  loopNode,
  aiTask,
  voiceTask,
  ifElse,
  callProcess,
  inputNode,
  outputNode,
  domainTask,
  memoryAction,
  callAgent,
  setVariable,
} satisfies { readonly [T in NodeType]: Behaviour<KeysOf<T>> };

/** What a node does. The parser has given it the keys of its type, which is what the cast says. */
export const behaviourOf = (node: Node): Behaviour<unknown> => BEHAVIOURS[node.type] as Behaviour<unknown>;
