"""Exchange with other libraries; each module needs the library it is named after."""
