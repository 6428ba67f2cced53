import "./command";
export { Timeline as Component } from "./Timeline";
