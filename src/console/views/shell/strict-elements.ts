/**
 * Lets xterm work without inline styles, which the page's policy forbids. While a terminal is shown, the document creates
 * elements that avoid them: the text of a style element becomes an adopted style sheet, and a style attribute is set through the
 * style object. xterm has no option for either.
 */
import { releaseStyles } from '../../parts/adopt-styles.ts';

let users = 0;

/** In effect until the returned function is called. */
export function useStrictElements(): () => void {
  if (users++ === 0) replaceCreateElement();
  return () => {
    if (--users === 0) Reflect.deleteProperty(document, 'createElement');
  };
}

function replaceCreateElement(): void {
  const create = document.createElement.bind(document);
  const strict = (tag: string, options?: ElementCreationOptions): HTMLElement =>
    tag.toLowerCase() === 'style' ? adoptedStyle(create('template')) : withStyleObject(create(tag, options));
  Object.defineProperty(document, 'createElement', { value: strict, configurable: true });
}

/** Replaces a style element: its text is an adopted style sheet until the element is removed. */
function adoptedStyle(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperties(element, {
    textContent: {
      get: () => '',
      set(css: string) {
        sheet.replaceSync(css);
      },
    },
    remove: {
      value() {
        releaseStyles(sheet);
        Element.prototype.remove.call(element);
      },
    },
  });
  return element;
}

function withStyleObject(element: HTMLElement): HTMLElement {
  Object.defineProperty(element, 'setAttribute', {
    value(name: string, value: string) {
      if (name === 'style') element.style.cssText = value;
      else Element.prototype.setAttribute.call(element, name, value);
    },
  });
  return element;
}
