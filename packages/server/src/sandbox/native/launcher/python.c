/*
 * Ends the interpreter of a forked cell as Python itself ends one (Py_FinalizeEx): it takes the program's objects apart
 * in the same order, so that finalizers run and files are written. Objects from before the program are left as they
 * are. Taking them apart, too, would be most of the cost of an end, because every page that is written to must first be
 * copied from the template.
 *
 * `end_program` is registered with `atexit` before any program runs: Python calls it as the last function of its end,
 * when threads have been waited for and the exit code is known. It is not a Python function, so it has no visible
 * frame. If anything is unusual, `end_program` returns, and Python does everything itself.
 *
 * Python's headers are not needed, because only its stable interface is used.
 */
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct object PyObject;
extern PyObject _Py_NoneStruct, PyModule_Type;
extern void Py_IncRef(PyObject *), Py_DecRef(PyObject *);
extern PyObject *PyImport_ImportModule(const char *), *PyImport_GetModuleDict(void), *PyModule_GetDict(PyObject *);
extern PyObject *PyDict_GetItemString(PyObject *, const char *), *PyDict_Copy(PyObject *);
extern int PyDict_Next(PyObject *, ssize_t *, PyObject **, PyObject **), PyDict_SetItem(PyObject *, PyObject *, PyObject *);
extern int PyDict_SetItemString(PyObject *, const char *, PyObject *), PyDict_Update(PyObject *, PyObject *);
extern ssize_t PyDict_Size(PyObject *), PyList_Size(PyObject *);
extern void PyDict_Clear(PyObject *);
extern PyObject *PyDict_Keys(PyObject *), *PyList_New(ssize_t), *PyList_GetItem(PyObject *, ssize_t);
extern int PyList_Append(PyObject *, PyObject *), PyList_SetSlice(PyObject *, ssize_t, ssize_t, PyObject *);
extern PyObject *PyObject_Type(PyObject *);
extern PyObject *PyObject_CallMethodObjArgs(PyObject *, PyObject *, ...), *PyObject_GetAttr(PyObject *, PyObject *);
extern int PyObject_IsTrue(PyObject *), PyType_IsSubtype(PyObject *, PyObject *);
extern PyObject *PyWeakref_NewRef(PyObject *, PyObject *), *PyWeakref_GetObject(PyObject *);
extern const char *PyUnicode_AsUTF8AndSize(PyObject *, ssize_t *);
extern PyObject *PyUnicode_InternFromString(const char *);
extern long PyLong_AsLong(PyObject *);
extern void PyErr_Clear(void), PyErr_WriteUnraisable(PyObject *);
extern ssize_t PyGC_Collect(void);
extern int PyGC_Enable(void);
/* Older Pythons lack these: the first came with 3.13, the second with 3.11. */
extern void PyErr_FormatUnraisable(const char *, ...) __attribute__((weak));
extern const unsigned long Py_Version __attribute__((weak));

enum { MODULES_MAX = 256, FLUSH_FAILED = 120, NOT_KNOWN = -1, INTERRUPTED = -2 };
enum { PYTHON_3_13 = 0x030d0000, PYTHON_3_14 = 0x030e0000 };

/* A module that exists before a program runs, with its names and values in order. The program's end keeps them. */
struct module {
    PyObject *names;
    ssize_t count;
    PyObject **values;
};

static struct module modules[MODULES_MAX];
static int module_count;
static unsigned long long libraries_before;
static int is_remembered;
static struct module *builtins, *sys; /* The last two in `modules`. */
static PyObject *const none = &_Py_NoneStruct;
static PyObject *kept, *threads, *collector, *sys_names, *builtin_names;
/* These texts are made before the fork, because making a text would write to Python's caches. */
static struct {
    PyObject *count, *closed, *flush, *callbacks;
} words;
static int code = NOT_KNOWN;

static int count_libraries(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

/* The number of libraries that were ever loaded. */
static unsigned long long libraries(void)
{
    unsigned long long count = 0;
    dl_iterate_phdr(count_libraries, &count);
    return count;
}

static int keep_module(PyObject *names)
{
    PyObject *name, *value;
    ssize_t at = 0;
    int number = 0;
    if (module_count == MODULES_MAX) return -1;
    struct module *module = &modules[module_count++];
    *module = (struct module){ names, PyDict_Size(names), malloc((2 * PyDict_Size(names) + 1) * sizeof(PyObject *)) };
    while (PyDict_Next(names, &at, &name, &value)) module->values[number++] = name, module->values[number++] = value;
    while (number > 0) Py_IncRef(module->values[--number]);
    return 0;
}

/* Remembers the modules that exist in the interpreter before it runs a program, and their values. */
void remember_interpreter(void)
{
    PyObject *name, *module;
    ssize_t at = 0;
    words.count = PyUnicode_InternFromString("_count"), words.closed = PyUnicode_InternFromString("closed");
    words.flush = PyUnicode_InternFromString("flush"), words.callbacks = PyUnicode_InternFromString("callbacks");
    kept = PyList_New(0);
    threads = PyImport_ImportModule("_thread");
    collector = PyImport_ImportModule("gc");
    sys_names = PyModule_GetDict(PyImport_ImportModule("sys"));
    builtin_names = PyModule_GetDict(PyImport_ImportModule("builtins"));
    while (PyDict_Next(PyImport_GetModuleDict(), &at, &name, &module)) {
        const char *word = PyUnicode_AsUTF8AndSize(name, NULL);
        if (word == NULL || !strcmp(word, "__main__")) continue;
        PyObject *names = PyModule_GetDict(module);
        if (names == NULL) return PyErr_Clear();
        PyList_Append(kept, module);
        if (names != sys_names && names != builtin_names && keep_module(names) != 0) return;
    }
    libraries_before = libraries();
    builtins = &modules[module_count];
    if (keep_module(builtin_names) != 0) return;
    sys = &modules[module_count];
    is_remembered = keep_module(sys_names) == 0;
}

/* Records how the program is about to end: an exit code, or INTERRUPTED. */
void note_ending(int ending)
{
    code = ending;
}

static int is_true(PyObject *value)
{
    int truth = value != NULL && PyObject_IsTrue(value) > 0;
    if (value != NULL) Py_DecRef(value);
    PyErr_Clear();
    return truth;
}

/* Whether no threads or further interpreters are left. Otherwise Python itself ends the interpreter. */
static int is_usual(void)
{
    PyObject *loaded = PyImport_GetModuleDict();
    if (code == NOT_KNOWN || PyDict_GetItemString(loaded, "_xxsubinterpreters") != NULL ||
        PyDict_GetItemString(loaded, "_interpreters") != NULL)
        return 0;
    return !is_true(PyObject_CallMethodObjArgs(threads, words.count, NULL));
}

static int is_since(unsigned long version)
{
    return &Py_Version != NULL && Py_Version >= version;
}

/* Prints the exception that a flush of `sys.stdout` raised. */
static void tell_flush_failed(PyObject *stream)
{
    if (PyErr_FormatUnraisable == NULL) PyErr_WriteUnraisable(stream);
    else if (is_since(PYTHON_3_14)) PyErr_FormatUnraisable("Exception ignored while flushing sys.stdout");
    else PyErr_FormatUnraisable("Exception ignored on flushing sys.stdout");
}

/* flush_std_files: 0, or -1 if output is lost. */
static int flush(const char *name)
{
    PyObject *stream = PyDict_GetItemString(sys_names, name);
    if (stream == NULL || stream == none || is_true(PyObject_GetAttr(stream, words.closed))) return 0;
    Py_IncRef(stream);
    PyObject *flushed = PyObject_CallMethodObjArgs(stream, words.flush, NULL);
    if (flushed != NULL) Py_DecRef(flushed);
    else if (!strcmp(name, "stdout")) tell_flush_failed(stream);
    else PyErr_Clear();
    Py_DecRef(stream);
    return flushed == NULL ? -1 : 0;
}

static void take_value(PyObject *names, PyObject *name, PyObject *value)
{
    if (PyDict_SetItem(names, name, value) != 0) PyErr_WriteUnraisable(NULL);
}

static int is_private(const char *name)
{
    return name[0] == '_' && name[1] != '_';
}

/* _PyModule_ClearDict: the names that begin with one underscore go first. */
static void clear(PyObject *names)
{
    PyObject *each = PyDict_Keys(names);
    for (int pass = 0; pass < 2; pass++) {
        for (ssize_t at = 0; at < PyList_Size(each); at++) {
            PyObject *name = PyList_GetItem(each, at);
            const char *word = PyUnicode_AsUTF8AndSize(name, NULL);
            if (word == NULL) PyErr_Clear();
            else if (pass == 0 ? is_private(word) : strcmp(word, "__builtins__")) take_value(names, name, none);
        }
    }
    Py_DecRef(each);
}

static int is_as_before(const struct module *module)
{
    PyObject *name, *value;
    ssize_t at = 0;
    if (PyDict_Size(module->names) != module->count) return 0;
    for (int number = 0; PyDict_Next(module->names, &at, &name, &value); number += 2)
        if (module->values[number] != name || module->values[number + 1] != value) return 0;
    return 1;
}

/* Removes from a module what the program put there. */
static void take_changed(const struct module *module)
{
    PyObject *name, *value, *changed = PyList_New(0);
    for (ssize_t at = 0, number = 0; PyDict_Next(module->names, &at, &name, &value); number += 2)
        if (number >= 2 * module->count || module->values[number + 1] != value) PyList_Append(changed, name);
    for (ssize_t at = 0; at < PyList_Size(changed); at++) take_value(module->names, PyList_GetItem(changed, at), none);
    Py_DecRef(changed);
}

/* After this, nothing can be printed. */
static void clear_sys(void)
{
    flush("stdout"), flush("stderr");
    PyDict_SetItemString(sys_names, "stdout", none), PyDict_SetItemString(sys_names, "stderr", none);
    take_changed(sys);
}

/* finalize_modules_delete_special */
static void take_special(void)
{
    static const char *const names[] = {
        "path", "argv", "ps1", "ps2", "last_exc", "last_type", "last_value", "last_traceback", "path_hooks",
        "path_importer_cache", "meta_path", "__interactivehook__",
    };
    static const char *const streams[][2] = { { "stdin", "__stdin__" }, { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
    if (PyDict_GetItemString(builtin_names, "_") != NULL) PyDict_SetItemString(builtin_names, "_", none);
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        if (PyDict_GetItemString(sys_names, names[at]) != NULL) PyDict_SetItemString(sys_names, names[at], none);
    for (size_t at = 0; at < sizeof streams / sizeof *streams; at++) {
        PyObject *stream = PyDict_GetItemString(sys_names, streams[at][1]);
        PyDict_SetItemString(sys_names, streams[at][0], stream == NULL ? none : stream);
    }
}

static int is_module(PyObject *value)
{
    PyObject *type = PyObject_Type(value);
    int answer = PyType_IsSubtype(type, &PyModule_Type);
    Py_DecRef(type);
    return answer;
}

static int was_there(PyObject *module)
{
    PyObject *names = PyModule_GetDict(module);
    for (int at = 0; at < module_count; at++)
        if (modules[at].names == names) return 1;
    return 0;
}

/* finalize_remove_modules: weak references to the program's own modules, in the order of their import. */
static PyObject *remove_modules(void)
{
    PyObject *loaded = PyImport_GetModuleDict(), *imported = PyList_New(0), *name, *module;
    for (ssize_t at = 0; PyDict_Next(loaded, &at, &name, &module);) {
        if (!is_module(module) || was_there(module)) continue;
        PyObject *reference = PyWeakref_NewRef(module, NULL);
        if (reference == NULL) PyErr_Clear();
        else PyList_Append(imported, reference), Py_DecRef(reference);
    }
    /* Values of existing names may be replaced during the loop. */
    for (ssize_t at = 0; PyDict_Next(loaded, &at, &name, &module);) take_value(loaded, name, none);
    PyDict_Clear(loaded);
    return imported;
}

/* finalize_restore_builtins_mod */
static void restore_builtins(void)
{
    if (is_as_before(builtins)) return;
    PyObject *changed = PyDict_Copy(builtin_names);
    PyDict_Clear(builtin_names);
    for (ssize_t at = 0; at < 2 * builtins->count; at += 2)
        take_value(builtin_names, builtins->values[at], builtins->values[at + 1]);
    Py_DecRef(changed);
}

/*
 * Ends the process. If the program loaded a library, this calls the functions that C code registered by atexit(3) or as a
 * library's destructor. Otherwise it calls none: the functions of the interpreter's own libraries would only write to pages.
 */
static void leave(int status)
{
    if (libraries() != libraries_before) exit(status);
    fflush(NULL);
    _exit(status);
}

static void take_apart(void)
{
    take_special();
    PyObject *imported = remove_modules();
    restore_builtins();
    /* Since 3.13 Python frees most modules whole: finalizers of the program's objects in a module find it intact. */
    for (int at = 0; at < module_count - 2 && is_since(PYTHON_3_13); at++)
        if (!is_as_before(&modules[at])) take_changed(&modules[at]);
    PyGC_Enable();
    PyGC_Collect();
    for (ssize_t at = PyList_Size(imported) - 1; at >= 0; at--) {
        PyObject *module = PyWeakref_GetObject(PyList_GetItem(imported, at));
        if (module == none) continue;
        Py_IncRef(module);
        clear(PyModule_GetDict(module));
        Py_DecRef(module);
    }
    for (int at = module_count - 3; at >= 0; at--)
        if (!is_as_before(&modules[at])) clear(modules[at].names);
    clear_sys();
    PyGC_Collect();
}

/* Rehearses in the template the steps of an end that come before objects are taken apart. */
void rehearse_end(void)
{
    code = 0;
    is_usual();
    code = NOT_KNOWN;
    flush("stdout"), flush("stderr");
    Py_DecRef(PyObject_GetAttr(collector, words.callbacks));
}

void end_program(void)
{
    if (!is_remembered || !is_usual()) return;
    int lost = flush("stdout") + flush("stderr");
    PyGC_Collect();
    /* Only the first collection calls the program's callbacks. */
    PyObject *callbacks = PyObject_GetAttr(collector, words.callbacks);
    if (callbacks == NULL || PyList_SetSlice(callbacks, 0, PyList_Size(callbacks), NULL) != 0) PyErr_Clear();
    take_apart();
    if (code != INTERRUPTED) leave(lost ? FLUSH_FAILED : code);
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
}
