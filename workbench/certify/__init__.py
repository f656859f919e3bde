"""The exam for your own webhook endpoint, in any language: sends messages, judges the responses, explains each fix."""

from workbench.certify.report import Report as Report
from workbench.certify.run import certify as certify
