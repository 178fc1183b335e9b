import { randomUUID } from 'node:crypto';

/** A first flow: short, runs as it is on a laptop, and shows the parts that most flows are made of. */
export function starterFlow(name: string): string {
  return `# A flow for wfx. Run it:  wfx run FILE     Check it:  wfx validate FILE
# Let your editor complete and check it:  wfx schema > flow.schema.json
# yaml-language-server: $schema=flow.schema.json

id: ${randomUUID()} # names the flow for ever: keep it when you change the file
name: ${JSON.stringify(name)}
description: Greets somebody, once a person has agreed.

# What a run starts with. Change it for one run: wfx run FILE --data name=Ada
variables:
  name: World
  times: 2

nodes:
  start: { type: startEvent, next: ask }

  # Waits for a person. Answer at the terminal, or: wfx run FILE --set-input ask=yes
  ask:
    type: inputNode
    name: Ask first
    formTitle: "Greet {name} {times} times?"
    inputType: radio
    options: ["yes", "no"] # in quotes, or YAML may read them as true and false
    timeout: P1D
    next: decide
    errorFlow: declined # taken when somebody cancels the question
    timeoutFlow: declined # taken when nobody answers in time

  # \${…} is a condition (JUEL); {name} in any other text is a variable.
  decide: { type: ifElse, condition: "\${inputValue == 'yes'}", then: greet, else: declined }

  # JavaScript in a sandbox; the variables are globals, and the last value is the result.
  greet:
    type: scriptTask
    name: Write the greeting
    script: |
      Array.from({ length: times }, () => "Hello " + name + "!").join(" ")
    result: greeting
    next: done

  declined: { type: setVariable, set: { greeting: "Nobody was greeted." }, next: done }
  done: { type: endEvent }
`;
}
