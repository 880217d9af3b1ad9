@testable import Errand
import Foundation
import Testing

@Suite("Repr-Digest and Content-Digest") struct DigestFieldsTests {
    private let hello = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:"
    private let bytes = [UInt8](Data(base64Encoded: "X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=") ?? Data())

    @Test("the SHA-256 is found among others, in one field or in several")
    func valid() {
        #expect(DigestFields([hello])?.sha256 == bytes)
        #expect(DigestFields(["sha-512=:AAAA:, \(hello)"])?.sha256 == bytes)
        #expect(DigestFields(["md5=:AAAA:", hello])?.sha256 == bytes)
        #expect(DigestFields(["  \(hello) \t,\tunixsum=:AA==:"])?.sha256 == bytes)
        #expect(DigestFields(["\(hello);a;b=1;c=x"])?.sha256 == bytes)
        #expect(DigestFields(["\(hello);a=1"])?.sha256 == bytes)
        #expect(DigestFields(["\(hello); a=\"x, \\\" y\";b=*t/o:k;c=-1.5;d=:AA==:;e=?1;f=@0"])?.sha256 == bytes)
        #expect(DigestFields(["a, b=?0, c=\"x\";d, e=(1 t \"s )\");f=1, g=%\"f%c3%bc\", \(hello)"])?.sha256 == bytes)
        // The padding may be missing (RFC 9651, 4.2.7).
        #expect(DigestFields([hello.replacing("PE=:", with: "PE:")])?.sha256 == bytes)
        // Of a name that repeats, the last counts.
        #expect(DigestFields(["sha-256=:AAAA:, \(hello)"])?.sha256 == bytes)
        #expect(DigestFields(["\(hello), sha-256=:AAAA:"])?.sha256 == nil)
        #expect(DigestFields(["\(hello), sha-256=1"])?.sha256 == nil)
    }

    @Test(
        "a field that is not such a dictionary counts as missing",
        arguments: [
            "", " ", "sha-256=", "sha-256=:", "sha-256=:AAAA", "sha-256=:A A:", "sha-256=:!!!!:", "sha-256=:AAAA:,",
            ",sha-256=:AAAA:", "sha-256=:AAAA: sha-512=:AAAA:", "SHA-256=:AAAA:", "sha-256=:AAAA:;", "1=:AAAA:",
            "ä=:AAAA:", "sha-256=:AAAA:;a=", "sha-256=:AAAA:;a=\"b", "sha-256=:AAAA:;a=\"b\\c\"", "a=(1", "a=(1;",
            "a=?2",
            "a=-", "a=1.", "a=@1.5", "a=%\"\"\"", "a=\"\u{7F}\"", "sha-256=:AAAA:;A=1",
        ])
    func invalid(text: String) {
        #expect(DigestFields([text]) == nil)
    }

    @Test(
        "a member of another kind than bytes names no digest",
        arguments: ["sha-256", "sha-256=abc", "sha-256=\"AAAA\""])
    func otherKinds(text: String) {
        #expect(DigestFields([text]) != nil && DigestFields([text])?.sha256 == nil)
    }

    @Test("the digest of a response is that of the whole file, never of a part or of compressed bytes")
    func ofResponses() {
        let other = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"
        func digest(_ status: Int, _ headers: HTTPHeaders) -> [UInt8]? { FileDigest(of: status, headers)?.bytes }
        #expect(digest(200, ["Repr-Digest": hello]) == bytes)
        #expect(digest(200, ["Content-Digest": hello]) == bytes)
        #expect(digest(200, ["Content-Digest": other, "Repr-Digest": hello]) == bytes)
        #expect(digest(200, ["Content-Digest": hello, "Repr-Digest": "broken"]) == bytes)
        #expect(digest(206, ["Content-Digest": hello]) == nil)
        #expect(digest(206, ["Content-Digest": other, "Repr-Digest": hello]) == bytes)
        #expect(digest(200, ["Repr-Digest": hello, "Content-Encoding": "gzip"]) == nil)
        #expect(digest(200, [:]) == nil)
    }

    @Test("a caller's digest is hexadecimal, in either case, or base64")
    func ofCallers() {
        let text = Hexadecimal.encode(bytes)
        for form in [text, text.uppercased(), Data(bytes).base64EncodedString()] {
            #expect(FileDigest.sha256(form).bytes == bytes)
            #expect(FileDigest.sha256(form).description == text)
        }
        for form in ["", "abc", String(text.dropLast()), text + "0", String(repeating: "g", count: 64), "AAAA"] {
            #expect(FileDigest.sha256(form).bytes == nil)
            #expect(FileDigest.sha256(form).description == form)
        }
    }
}
