// Keeps an open page up to date. Every page is whole without it.
export {};
