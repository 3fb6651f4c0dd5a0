/* hostcuda-cc: compiles CUDA C++ for the host device, as nvcc compiles it for a GPU. Each .cu file goes through the
 * preprocessor of g++ or clang++, is rewritten (rewrite.h), and is compiled as C++. */
#include "cc_options.h"
#include "cc_process.h"
#include "rewrite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: hostcuda-cc [OPTION]... FILE...\n"
    "Compiles CUDA C++ (.cu) for breakgraph's host device, and links it with libhostcuda: nvcc for machines without a "
    "GPU.\n"
    "  -c, -S, -E        make an object, assembly, or the rewritten source; without them, a program is linked\n"
    "  -o FILE           the output\n"
    "  -x cu             treat the following FILEs as CUDA C++, whatever their names\n"
    "  -I, -D, -U, -isystem, -include, -std, -g, -O, -M..., -f..., -m..., -W..., -l, -L, -Wl,...\n"
    "                    as gcc has them\n"
    "  -ccbin COMPILER   g++ or clang++; default " HOSTCUDA_CC_COMPILER "\n"
    "  -Xcompiler LIST   comma-separated options for the compiler; -Xlinker LIST: for the linker\n"
    "  -v                print the commands that are run\n"
    "nvcc's options for GPU code (-arch, -gencode, -lineinfo, ...) are ignored, with a note. What is not "
    "supported,\n"
    "and how programs differ: docs/hostcuda.md.\n";

/* Folders of this source tree, or of the installation. */
struct install_paths {
    char *include; /* the folder that has hostcuda/kernel_shim.h */
    char *own;     /* the host device's headers, with a / at the end */
    char *cuda;    /* the folder that has cuda_runtime.h */
    char *library; /* the folder that has libhostcuda.so */
};

struct driver {
    struct hcc_options options;
    struct install_paths install_paths;
    char *folder;            /* temporary files */
    struct hcc_list objects; /* inputs of the linker */
};

/* Resolves a folder relative to this program's folder; an absolute path stays. */
static char *find_folder(const char *from, const char *folder)
{
    char *path = folder[0] == '/' ? hcc_format("%s", folder) : hcc_format("%s/%s", from, folder);
    char *whole = realpath(path, NULL);
    if (!whole)
        return path;
    free(path);
    return whole;
}

static bool has_runtime(const char *folder)
{
    char *header = hcc_format("%s/cuda_runtime.h", folder);
    bool there = access(header, R_OK) == 0;
    free(header);
    return there;
}

/* Returns the folder of CUDA's headers: the headers that the host device was built with, or else those of an installed
 * toolkit. */
static char *find_cuda(const char *here)
{
    const char *parents[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char *folder = find_folder(here, HOSTCUDA_CC_CUDA);
    for (size_t i = 0; !has_runtime(folder) && i < sizeof parents / sizeof *parents; i++) {
        free(folder);
        folder = hcc_format("%s/include", parents[i] ? parents[i] : "");
    }
    if (has_runtime(folder))
        return folder;
    fputs("hostcuda-cc: error: CUDA's headers are not found; set CUDA_HOME to the folder of a CUDA toolkit\n", stderr);
    free(folder);
    return NULL;
}

static bool find_install_paths(struct install_paths *install_paths)
{
    char *here = hcc_program_folder();
    if (here) {
        install_paths->include = find_folder(here, HOSTCUDA_CC_INCLUDE);
        install_paths->cuda = find_cuda(here);
        install_paths->library = find_folder(here, HOSTCUDA_CC_LIBRARY);
        install_paths->own = hcc_format("%s/hostcuda/", install_paths->include);
    }
    free(here);
    return install_paths->cuda != NULL;
}

static void add_owned_text(struct hcc_list *list, char *text)
{
    hcc_list_add(list, text);
    free(text);
}

/* ---- compiling one input ----------------------------------------------------------------------------------------- */

/* a/b.cu with .o becomes b.o */
static char *name_output(const char *input, const char *ending)
{
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input, *dot = strrchr(name, '.');
    return hcc_format("%.*s%s", dot ? (int)(dot - name) : (int)strlen(name), name, ending);
}

/* Begins the compiler's command. Preprocessed sources need no flags of the preprocessor. */
static void begin_command(const struct driver *d, struct hcc_list *command, bool cuda, bool preprocessed)
{
    const struct hcc_options *o = &d->options;
    hcc_list_add(command, o->compiler);
    hcc_list_add_all(command, &o->both);
    hcc_list_add_all(command, &o->compile);
    if (cuda && !o->standard)
        hcc_list_add(command, "-std=c++17");
    if (preprocessed)
        return;
    if (cuda) { /* these must come before headers of the program and the toolkit */
        hcc_list_add(command, "-D__HOSTCUDA_CC__");
        hcc_list_add(command, "-include");
        add_owned_text(command, hcc_format("%skernel_shim.h", d->install_paths.own));
        add_owned_text(command, hcc_format("-isystem%s", d->install_paths.own));
    }
    hcc_list_add_all(command, &o->preprocess);
    add_owned_text(command, hcc_format("-isystem%s", d->install_paths.cuda));
    if (cuda)
        add_owned_text(command, hcc_format("-isystem%s/cccl", d->install_paths.cuda)); /* as nvcc does */
}

/* Names the dependency file and its target as if the output were compiled from the input directly. */
static void add_dependency_names(const struct hcc_options *o, struct hcc_list *command, const char *input,
                                 const char *output)
{
    bool beside = o->dependencies && !o->dependency_file;
    char *name = name_output(input, o->step == HCC_ASSEMBLY ? ".s" : ".o");
    const char *target = output ? output : name, *slash = strrchr(target, '/'), *dot = strrchr(target, '.');
    if (!o->dependency_target && (o->dependencies || o->step == HCC_DEPENDENCIES)) {
        hcc_list_add(command, "-MQ");
        hcc_list_add(command, target);
    }
    if (beside) {
        hcc_list_add(command, "-MF");
        add_owned_text(command,
                       hcc_format("%.*s.d", dot && dot > slash ? (int)(dot - target) : (int)strlen(target), target));
    }
    free(name);
}

/* The first step; with -M it is the only one. */
static int preprocess_source(const struct driver *d, const char *input, const char *output, const char *preprocessed)
{
    struct hcc_list command = {0};
    begin_command(d, &command, true, false);
    if (d->options.step != HCC_DEPENDENCIES)
        hcc_list_add(&command, "-E");
    add_dependency_names(&d->options, &command, input, output);
    add_owned_text(&command, hcc_format("-I%s", d->install_paths.include));
    hcc_list_add(&command, "-xc++");
    hcc_list_add(&command, input);
    if (preprocessed) {
        hcc_list_add(&command, "-o");
        hcc_list_add(&command, preprocessed);
    }
    int status = hcc_run_command(&command, d->options.verbose);
    hcc_list_free(&command);
    return status;
}

static bool has_definition(const struct hcc_list *flags)
{
    for (size_t i = 0; i < flags->count; i++)
        if (strstr(flags->items[i], "__CUDA_ARCH__") != NULL)
            return true;
    return false;
}

static bool defines_architecture(const struct hcc_options *o)
{
    return has_definition(&o->preprocess) || has_definition(&o->compile) || has_definition(&o->both);
}

static int rewrite_source(const struct driver *d, const char *from, const char *to)
{
    FILE *file = to ? fopen(to, "w") : stdout;
    bool written = file && hcc_rewrite(from, d->install_paths.own, defines_architecture(&d->options), file);
    bool failed = !file || ferror(file) || (to ? fclose(file) : fflush(file)) != 0;
    if (failed)
        fprintf(stderr, "hostcuda-cc: error: %s cannot be written: %s\n", to ? to : "the output", strerror(errno));
    return failed || !written;
}

/* The last step, for a rewritten source or one that is not CUDA C++. */
static int compile_source(const struct driver *d, const char *input, const char *language, const char *output)
{
    const struct hcc_options *o = &d->options;
    bool cuda = strcmp(language, "cu") == 0;
    struct hcc_list command = {0};
    begin_command(d, &command, cuda, cuda);
    if (cuda)
        hcc_list_add(&command, "-Wno-unknown-pragmas");
    if (cuda) /* the comments that suppress this warning are gone */
        hcc_list_add(&command, "-Wno-implicit-fallthrough");
    if (cuda && !o->contraction)
        hcc_list_add(&command, "-ffp-contract=off");
    if (o->syntax_only)
        hcc_list_add(&command, "-fsyntax-only");
    else if (o->step != HCC_DEPENDENCIES)
        hcc_list_add(&command, o->step == HCC_PREPROCESS ? "-E" : o->step == HCC_ASSEMBLY ? "-S" : "-c");
    add_owned_text(&command, hcc_format("-x%s", cuda ? "c++-cpp-output" : language));
    hcc_list_add(&command, input);
    if (output && !o->syntax_only) {
        hcc_list_add(&command, "-o");
        hcc_list_add(&command, output);
    }
    int status = hcc_run_command(&command, o->verbose);
    hcc_list_free(&command);
    return status;
}

static int compile_cuda(const struct driver *d, const char *input, const char *output)
{
    const struct hcc_options *o = &d->options;
    if (o->step == HCC_DEPENDENCIES)
        return preprocess_source(d, input, NULL, o->output);
    char *preprocessed = hcc_format("%s/preprocessed.ii", d->folder);
    char *rewritten = hcc_format("%s/rewritten.ii", d->folder);
    int status = preprocess_source(d, input, output, preprocessed);
    if (!status)
        status = rewrite_source(d, preprocessed, o->step == HCC_PREPROCESS ? o->output : rewritten);
    if (!status && o->step != HCC_PREPROCESS)
        status = compile_source(d, rewritten, "cu", output);
    free(preprocessed);
    free(rewritten);
    return status;
}

/* Compiles one input. An object that is only linked goes into the temporary folder. */
static int compile_input(struct driver *d, size_t i)
{
    const struct hcc_options *o = &d->options;
    const struct hcc_input *input = &o->inputs[i];
    char *output = o->step == HCC_LINK ? hcc_format("%s/%zu.o", d->folder, i)
                   : o->output         ? hcc_format("%s", o->output)
                   : o->step == HCC_OBJECT || o->step == HCC_ASSEMBLY
                       ? name_output(input->name, o->step == HCC_OBJECT ? ".o" : ".s")
                       : NULL;
    int status = strcmp(input->language, "cu") == 0 ? compile_cuda(d, input->name, output)
                                                    : compile_source(d, input->name, input->language, output);
    if (o->step == HCC_LINK)
        hcc_list_add(&d->objects, output);
    free(output);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int link_program(const struct driver *d)
{
    const struct hcc_options *o = &d->options;
    struct hcc_list command = {0};
    hcc_list_add(&command, o->compiler);
    hcc_list_add_all(&command, &o->both);
    hcc_list_add(&command, "-o");
    hcc_list_add(&command, o->output ? o->output : "a.out");
    hcc_list_add_all(&command, &d->objects);
    hcc_list_add_all(&command, &o->link);
    add_owned_text(&command, hcc_format("-L%s", d->install_paths.library));
    add_owned_text(&command, hcc_format("-Wl,-rpath,%s", d->install_paths.library));
    hcc_list_add(&command, "-lhostcuda");
    int status = hcc_run_command(&command, o->verbose);
    hcc_list_free(&command);
    return status;
}

static void print_ignored(const struct hcc_list *ignored)
{
    if (ignored->count == 0)
        return;
    fputs("hostcuda-cc: note: these options concern GPU code or nvcc itself and are ignored:", stderr);
    for (size_t i = 0; i < ignored->count; i++)
        fprintf(stderr, " %s", ignored->items[i]);
    fputc('\n', stderr);
}

static int compile_and_link(struct driver *d)
{
    int status = 0;
    print_ignored(&d->options.ignored);
    hcc_forward_signals();
    if (!find_install_paths(&d->install_paths) || !(d->folder = hcc_make_temporary_folder()))
        return 1;
    for (size_t i = 0; i < d->options.input_count; i++)
        status = compile_input(d, i) || status;
    if (!status && d->options.step == HCC_LINK)
        status = link_program(d);
    return status;
}

int main(int argc, char **argv)
{
    struct driver d = {0};
    int status = 1;
    if (!hcc_options_read(&d.options, argc, argv))
        goto done;
    if (d.options.shows_help || d.options.shows_version) {
        fputs(d.options.shows_help ? help : "hostcuda-cc " BG_VERSION "\n", stdout);
        status = fflush(stdout) != 0;
        goto done;
    }
    status = compile_and_link(&d);
done:
    hcc_remove_temporary_folder(d.folder);
    hcc_list_free(&d.objects);
    free(d.install_paths.include);
    free(d.install_paths.own);
    free(d.install_paths.cuda);
    free(d.install_paths.library);
    hcc_options_free(&d.options);
    hcc_end_by_signal();
    return status;
}
