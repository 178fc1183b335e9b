import type { App } from './app.ts';
import { SCREENS } from './screens/index.ts';
import { sentenceOf } from './sentence.ts';
import { THEME_NAMES } from './theme.ts';

/** What may be written after `:`. */
export const commandWords = (): readonly string[] => [...Object.keys(SCREENS), 'save', 'theme', 'quit'];

/** What may become of it: with what follows some of the words. */
export const completions = (text: string): readonly string[] =>
  [...commandWords(), ...THEME_NAMES.map((name) => `theme ${name}`)].filter((word) => word.startsWith(text));

/** Does what was written after `:`; the beginning of a screen's name is enough. */
export function runCommand(app: App, text: string): void {
  const [word = '', ...rest] = text.split(/\s+/);
  if (word === '') return;
  if (['q', 'q!', 'quit', 'exit'].includes(word)) return app.quit();
  if (word === 'save') return saveView(app, rest.join(' '));
  if (word === 'theme') return chooseTheme(app, rest.join(' '));
  const names = Object.keys(SCREENS);
  const name = names.find((one) => one === word) ?? names.find((one) => one.startsWith(word));
  if (name === undefined) app.say(`There is no screen “${word}”: it is one of ${names.join(', ')}.`, 'bad');
  else app.go(name);
}

/** Keeps the filter of the moment under a name. */
function saveView(app: App, name: string): void {
  const { name: screen, filter } = app.screen;
  if (screen !== 'runs' || filter === undefined || filter.text === '')
    return app.say('Filter the runs first (/), then :save NAME keeps the filter as a view.', 'warn');
  if (name === '') return app.say('Give the view a name: :save NAME', 'warn');
  try {
    app.settings.save({ name: name.slice(0, 40), filter: filter.text });
    app.say(`Kept “${filter.text}” as the view ${name}.`);
  } catch (error) {
    app.say(sentenceOf(error), 'bad');
  }
}

function chooseTheme(app: App, name: string): void {
  const theme = THEME_NAMES.find((one) => one === name);
  if (theme === undefined) app.say(`There is no theme “${name}”: it is one of ${THEME_NAMES.join(', ')}.`, 'bad');
  else app.settings.use(theme);
}
