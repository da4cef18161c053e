// A library of shapes, for objects with virtual functions in heaps. Another build of it (SHAPES_REORDERED) has another
// order of functions, and one more.
#pragma once

namespace shapes {

class tagged {
public:
    tagged() = default;
    tagged(const tagged&) = default;
    tagged& operator=(const tagged&) = default;
    virtual ~tagged() = default;
    [[nodiscard]] virtual int tag() const = 0;
};

class shape {
public:
    shape() = default;
    shape(const shape&) = default;
    shape& operator=(const shape&) = default;
#ifdef SHAPES_REORDERED
    [[nodiscard]] virtual int corners() const { return 77; }
    [[nodiscard]] virtual const char* name() const { return "shape"; }
    [[nodiscard]] virtual bool is_round() const { return false; }
    [[nodiscard]] virtual double area() const = 0;
    virtual ~shape() = default;
#else
    virtual ~shape() = default;
    [[nodiscard]] virtual double area() const = 0;
    [[nodiscard]] virtual bool is_round() const { return false; }
    [[nodiscard]] virtual const char* name() const { return "shape"; }
#endif
    [[nodiscard]] virtual shape* parent() const { return parent_; }
    int id = 1;

protected:
    shape* parent_ = nullptr;
};

class circle : public shape {
public:
    circle() = default;
    explicit circle(double radius) : radius_(radius) {}
    [[nodiscard]] double area() const override;
    [[nodiscard]] bool is_round() const override;
    [[nodiscard]] const char* name() const override;

private:
    double radius_ = 2;
};

class square : public shape, public tagged {
public:
    [[nodiscard]] double area() const override;
    [[nodiscard]] const char* name() const override;
    [[nodiscard]] int tag() const override;

private:
    double side_ = 3;
};

/// Virtual inheritance: a diamond over a virtual base.
class node : public virtual shape {
public:
    [[nodiscard]] virtual int depth() const { return depth_; }
    int depth_ = 5;
};
class left : public virtual node {
public:
    [[nodiscard]] int depth() const override { return 100 + left_; }
    int left_ = 6;
};
class right : public virtual node {
public:
    int right_ = 7;
};
class diamond : public left, public right, public tagged {
public:
    [[nodiscard]] double area() const override;
    [[nodiscard]] int depth() const override { return 1000 + own_; }
    [[nodiscard]] int tag() const override { return own_; }
    [[nodiscard]] const char* name() const override { return "diamond"; }
    [[nodiscard]] diamond* parent() const override;
    void be_own_parent() { parent_ = this; }
    int own_ = 8;
};

class last final : public circle {
public:
    last() : circle(1) {}
    [[nodiscard]] double area() const override; // not inline: then each program with the library has the vtable
};

/// Members and bases, without virtual functions of its own.
struct holder {
    circle round{4};
    square angular;
    int number = 3;
};

/// Some programs do not have this class.
class late : public shape {
public:
    [[nodiscard]] double area() const override;
#ifdef SHAPES_LARGER
    double added = 0;
#endif
};

} // namespace shapes
