"""A certificate authority of the test's own, made with openssl: one root,
one leaf for any list of names."""
import os
import subprocess


class TestCA:
    def __init__(self, folder):
        self.folder = folder
        self.root = os.path.join(folder, "root.pem")
        self.root_key = os.path.join(folder, "root.key")
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
                      "-subj", "/CN=agentnode test root", "-keyout",
                      self.root_key, "-out", self.root, "-addext",
                      "keyUsage=critical,keyCertSign,cRLSign")

    def _openssl(self, *argv):
        subprocess.run(["openssl", *argv], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def leaf(self, *names):
        """Path of a PEM file with certificate and key for the names."""
        base = os.path.join(self.folder, names[0].replace("*", "star"))
        with open(base + ".ext", "w", encoding="ascii") as file:
            file.write("subjectAltName=" + ",".join(
                ("IP:" if n.replace(".", "").isdigit() else "DNS:") + n
                for n in names) + "\n")
        self._openssl("req", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      "/CN=" + names[0][:60], "-keyout", base + ".key",
                      "-out", base + ".csr")
        self._openssl("x509", "-req", "-in", base + ".csr", "-CA", self.root,
                      "-CAkey", self.root_key, "-CAcreateserial", "-days",
                      "3650", "-extfile", base + ".ext", "-out",
                      base + ".crt")
        with open(base + ".pem", "w", encoding="ascii") as out:
            for part in (".crt", ".key"):
                with open(base + part, encoding="ascii") as file:
                    out.write(file.read())
        return base + ".pem"
