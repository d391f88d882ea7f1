/** Keyboard shortcuts of the page. A view binds its keys while it is shown; the last binding of a key has precedence. */

export interface KeyBinding {
  /** The value of `KeyboardEvent.key`. */
  readonly key: string;
  /** The description in the help. */
  readonly label: string;
  run(): void;
}

const bound: (readonly KeyBinding[])[] = [];

/** Binds keys until the returned function is called. */
export function bindKeys(bindings: readonly KeyBinding[]): () => void {
  bound.push(bindings);
  return () => {
    const at = bound.indexOf(bindings);
    if (at >= 0) bound.splice(at, 1);
  };
}

/** The bindings in effect, one for each key. */
export function activeKeys(): readonly KeyBinding[] {
  const byKey = new Map<string, KeyBinding>();
  for (const bindings of bound) for (const binding of bindings) byKey.set(binding.key, binding);
  return [...byKey.values()];
}

export function followKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    const binding = bound
      .toReversed()
      .flatMap((bindings) => bindings.filter(({ key }) => key === event.key))
      .at(0);
    if (binding === undefined) return;
    // Enter on a focused link or button activates that element.
    if (event.key === 'Enter' && event.target instanceof HTMLElement && event.target.matches('a, button, summary'))
      return;
    event.preventDefault();
    binding.run();
  });
}

function isTyping(target: EventTarget | null): boolean {
  // A field of a dialog that was just closed keeps the focus until the next frame.
  if (!(target instanceof HTMLElement) || target.closest('dialog:not([open])') !== null) return false;
  return target.isContentEditable || target.matches('input, textarea, select, .takes-keys, .takes-keys *');
}
