/** The engine's door. Pure: commands in, facts out; time, ids and environment values come in with the command. */
export { applyAll } from './apply.ts';
export { find, innerBody } from './body.ts';
export { calledInstance, childResult, inlineChild, processChild } from './child.ts';
export * from './command.ts';
export { begin, type Decision, decide } from './decide.ts';
export { emptyDraft } from './draft.ts';
export { EVENT_FORMAT, type Event, type LogLevel, unfolded } from './event.ts';
export * from './flow.ts';
export { type Graph, type GraphEdge, type GraphNode, graphOf } from './graph.ts';
export type { Json, JsonObject } from './json.ts';
export { LogFold, type LogLine } from './log.ts';
export type { WorkKind } from './node.ts';
export { type ActivationPending, type Pending, pending, prepareWork, workKind } from './pending.ts';
export type { Activation, Failure, Owed, Purpose, State, Subscription, Timer } from './state.ts';
export { placeOf, ROOT_SCOPE } from './state.ts';
export { restoreState, storedState } from './stored.ts';
export { type NodeRecord, PastFold, ViewFold } from './view.ts';
export { type Awaited, type Ended, type Otherwise, type Wait, WaitFold } from './waits.ts';
