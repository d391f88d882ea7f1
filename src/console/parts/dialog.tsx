/**
 * A dialog over the page: the browser's own element, which keeps the focus inside and closes with Escape. Its content is created
 * anew each time.
 */
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../app/texts.ts';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly open: Signal<boolean>;
  readonly title: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Dialog({ open, title, class: className = '', children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = open.value;
  // Runs before the next key event, so that keys typed at once reach the dialog.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const closeOutside = ({ target }: MouseEvent): void => {
    if (target === dialog.current) open.value = false;
  };
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={title}
      onClose={() => (open.value = false)}
      onClick={closeOutside}
    >
      {isOpen ? (
        <div class="dialog-body">
          <header>
            <h2>{title}</h2>
            <button type="button" class="icon" aria-label={texts.shell.close} onClick={() => (open.value = false)}>
              <Icon name="close" />
            </button>
          </header>
          {children}
        </div>
      ) : null}
    </dialog>
  );
}
